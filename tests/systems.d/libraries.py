"""Installs what the systems need below one folder, and says which could not be had."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

from proof import FOLDER, System


class Missing(Exception):
    """A registry did not answer, or a tool is not here."""


class Libraries:
    def __init__(self, folder: Path):
        self.folder = folder
        self.log = open(folder / "install.log", "ab")
        self.missing: dict[str, str] = {}

    def install(self, systems: list[System]) -> None:
        """Everything at once; where that fails, each system's on its own."""
        for manager in ("apt", "pip", "npm", "cargo"):
            wanting = [system for system in systems if manager in system.needs]
            everything = sorted({need for system in wanting for need in system.needs[manager]})
            if not wanting or self._try(manager, everything):
                continue
            for system in wanting:
                if not self._try(manager, system.needs[manager]):
                    self.missing[system.name] = f"{manager} could not install {', '.join(system.needs[manager])}"

    def _try(self, manager: str, packages: list[str]) -> bool:
        for _ in range(3):
            try:
                getattr(self, f"_{manager}")(packages)
                return True
            except (Missing, OSError, subprocess.SubprocessError) as error:
                self.log.write(f"{manager}: {error}\n".encode())
                self.log.flush()
        return False

    def _run(self, *command: str | Path, cwd: Path | None = None, **environment: str) -> None:
        subprocess.run(
            list(map(str, command)), cwd=cwd, env={**os.environ, **environment}, check=True, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, timeout=1800)

    def _pip(self, packages: list[str]) -> None:
        if not (self.folder / "python/bin/pip").exists():
            self._run(new_python(), "-m", "venv", self.folder / "python")
        self._run(self.folder / "python/bin/pip", "install", "--quiet", *packages)

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
        self._run(*root, "apt-get", "-qq", "update")
        install = ["apt-get", "-qq", "--yes", "--no-install-recommends", "install", *packages]
        self._run(*root, "env", "DEBIAN_FRONTEND=noninteractive", *install)

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
        return [str(programs.get(program, program)), str(FOLDER / script), *rest]


def new_python() -> str:
    """A Python that every library here runs on."""
    found = [shutil.which(f"python3.{minor}") for minor in (14, 13, 12)]
    found += sorted(map(str, Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python3")), reverse=True)
    for python in [*filter(None, found), "python3"]:
        asked = [python, "-c", "import sys, venv; sys.exit(sys.version_info < (3, 12))"]
        if subprocess.run(asked, capture_output=True).returncode == 0:
            return python
    raise Missing("no Python 3.12 or newer")
