"""Installs what the systems need below one folder, and says which could not be had."""

import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

from proof import FOLDER, System


class Missing(Exception):
    """A registry did not answer, or a tool is not here."""


# Nobody answers there: to see what is said if no registry does.
NO_REGISTRY = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_EXTRA_INDEX_URL": "", "npm_config_registry": "http://127.0.0.1:9/",
    "CARGO_HTTP_PROXY": "http://127.0.0.1:9", "CARGO_NET_RETRY": "0",
}
# The tries here are enough.
ONE_TRY = {"PIP_RETRIES": "1", "npm_config_fetch_retries": "0"}
TRIES = 3


class Libraries:
    def __init__(self, folder: Path, patience: float, has_registry: bool = True):
        """All installs together may take so many seconds."""
        self.folder, self.end = folder, time.monotonic() + patience
        self.log = open(folder / "install.log", "a+b")
        self.environment = {**os.environ, **ONE_TRY, **({} if has_registry else NO_REGISTRY)}
        self.missing: dict[str, str] = {}
        self.why = ""

    def install(self, systems: list[System]) -> None:
        """Everything at once; where that fails, each system's on its own."""
        for manager in ("apt", "pip", "pip_alone", "npm", "cargo"):
            wanting = [system for system in systems if manager in system.needs]
            everything = sorted({need for system in wanting for need in system.needs[manager]})
            if wanting and not self._try(manager, everything):
                self._install_each(manager, wanting)

    def _install_each(self, manager: str, systems: list[System]) -> None:
        installed = []
        for at, system in enumerate(systems):
            # A registry that has failed twice, and with everything, does not answer.
            if at >= 2 and not installed:
                self.missing[system.name] = f"{manager} does not get anything: {self.why}"
            elif self._try(manager, system.needs[manager]):
                installed.append(system)
            else:
                self.missing[system.name] = f"{manager} cannot install {', '.join(system.needs[manager])}: {self.why}"

    def _try(self, manager: str, packages: list[str]) -> bool:
        for attempt in range(TRIES):
            time.sleep(attempt)
            begins = self.log.seek(0, os.SEEK_END)
            try:
                getattr(self, f"_{manager}")(packages)
                return True
            except (Missing, OSError, subprocess.SubprocessError) as error:
                self.why = self._last_words(begins) or str(error)
                self.log.write(f"{manager}: {error}\n".encode())
                self.log.flush()
        return False

    def _last_words(self, begins: int) -> str:
        """What the last command said in the end."""
        self.log.seek(begins)
        lines = [line.strip() for line in self.log.read().decode(errors="replace").splitlines()]
        said = [line for word in ("onnection", "ECONN", "rror", "ERR") for line in lines if word in line]
        return said[0][:160] if said else ""

    def _run(self, *command: str | Path, cwd: Path | None = None, **environment: str) -> None:
        left = self.end - time.monotonic()
        if left <= 0:
            raise Missing("the time for installs is over")
        subprocess.run(
            list(map(str, command)), cwd=cwd, env={**self.environment, **environment}, check=True,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, timeout=left)

    def _pip(self, packages: list[str]) -> None:
        if not (self.folder / "python/bin/pip").exists():
            self._run(new_python(), "-m", "venv", self.folder / "python")
        self._run(self.folder / "python/bin/pip", "install", "--quiet", *packages)

    def _pip_alone(self, packages: list[str]) -> None:
        """A version beside another one of the same library."""
        for package in packages:
            if not (folder := self._alone(package)).exists():
                self._pip(["--target", str(folder), package])

    def _alone(self, package: str) -> Path:
        return self.folder / "alone" / package

    def _npm(self, packages: list[str]) -> None:
        """With a Node of its own: some libraries need a newer one than the system's."""
        folder = self.folder / "node"
        folder.mkdir(exist_ok=True)
        if not (folder / "package.json").exists():
            (folder / "package.json").write_text('{"private": true}\n')
        machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        node = f"node-{platform.system().lower()}-{machine}@24"
        self._run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", node, *packages, cwd=folder)

    def _cargo(self, packages: list[str]) -> None:
        """Every package is the folder of a system here."""
        for package in packages:
            manifest = FOLDER / package / "Cargo.toml"
            self._run(
                "cargo", "build", "--quiet", "--manifest-path", manifest, CARGO_TARGET_DIR=str(self.folder / "cargo"))

    def _apt(self, packages: list[str]) -> None:
        asked = ["dpkg-query", "--show", "--showformat", "${db:Status-Status}\n", *packages]
        known = subprocess.run(asked, capture_output=True, text=True)
        if known.returncode == 0 and set(known.stdout.split()) == {"installed"}:
            return
        root = [] if os.getuid() == 0 else ["sudo", "-n"]
        # Somebody else may be installing.
        patience = ["-o", "DPkg::Lock::Timeout=120"]
        self._run(*root, "apt-get", "-qq", *patience, "update")
        options = ["-qq", "--yes", "--no-install-recommends", *patience]
        install = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *options, "install", *packages]
        self._run(*install, "--download-only")
        # Only the download has a limit: ended half-way, an install would leave the system's packages broken.
        subprocess.run(install, check=True, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def command(self, system: System) -> list[str]:
        """How the worker of a system is started."""
        if system.worker is None:
            return [str(shutil.which("python3")), str(FOLDER / "sql_worker.py"), str(system.folder)]
        program, *arguments = system.worker
        programs = {
            "python": self.folder / "python/bin/python",
            "node": next(self.folder.glob("node/node_modules/node-*/bin/node"), Path("node")),
            "cargo": self.folder / "cargo/debug" / arguments[0],
        }
        if program == "cargo":
            return [str(programs[program])]
        script, *rest = arguments
        alone = [str(self._alone(package)) for package in system.needs.get("pip_alone", [])]
        found_first = ["env", f"PYTHONPATH={os.pathsep.join(alone)}"] if alone else []
        return [*found_first, str(programs.get(program, program)), str(FOLDER / script), *rest]


def new_python() -> str:
    """A Python that every library here runs on."""
    found = [shutil.which(f"python3.{minor}") for minor in (14, 13, 12)]
    found += sorted(map(str, Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python3")), reverse=True)
    for python in [*filter(None, found), "python3"]:
        asked = [python, "-c", "import sys, venv; sys.exit(sys.version_info < (3, 12))"]
        if subprocess.run(asked, capture_output=True).returncode == 0:
            return python
    raise Missing("no Python 3.12 or newer")
