"""The proof for one system: its own worker is killed, claimtop sees it, and a fresh worker finishes the job."""

import json
import os
import signal
import socket
import subprocess
import time
import tomllib
from pathlib import Path

from draft import score

FOLDER = Path(__file__).parent
STEPS = ["detect", "verdict", "reclaim", "finish", "undo", "healthy", "refused"]
# Nothing takes this long unless it never happens, however busy the machine is.
PATIENCE = float(os.environ.get("CLAIMTOP_SYSTEMS_PATIENCE", 240))


class Failed(Exception):
    """A step that did not go as it should, and what was seen instead."""


def wait_for(what: str, look):
    """What `look` finds, as soon as it finds something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)
    raise Failed(f"waited {PATIENCE:.0f} s for {what}")


class System:
    """What a folder of this directory says about a system."""

    def __init__(self, name: str):
        self.name, self.folder = name, FOLDER / name
        described = tomllib.loads((self.folder / "system.toml").read_text())
        self.profile: str = described["profile"]
        self.version: str = described["version"]
        self.engines: list[str] = described["engines"]
        self.worker: list[str] | None = described.get("worker")
        self.needs: dict[str, list[str]] = described.get("needs", {})
        self.ci: list[str] = described.get("ci", [])
        self.verdict: list[str] = described["verdict"]
        self.limits: dict[str, str] = described.get("limits", {})
        host = socket.gethostname()
        self.options: list[str] = [option.replace("{host}", host) for option in described.get("options", [])]
        self.acts: bool = described.get("acts", True)
        self.dies: bool = described.get("dies", True)
        self.left_by_undo: list[str] = described.get("left_by_undo", [])

    @property
    def is_real(self) -> bool:
        """The library itself runs; otherwise its statements are run on its tables."""
        return self.worker is not None


class Worker:
    """One process of the system's worker, in a group of its own so that all of it can be killed."""

    def __init__(self, proof: "Proof"):
        self.process = subprocess.Popen(
            [*proof.command, "work"], env=proof.environment, cwd=proof.folder, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=proof.output, stderr=subprocess.STDOUT)

    def end(self, how: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, how)
        except ProcessLookupError:
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self.end(signal.SIGKILL)


class Proof:
    def __init__(self, system: System, database, command: list[str], folder: Path, claimtop: Path):
        self.system, self.database, self.command, self.folder = system, database, command, folder
        self.claimtop, self.done, self.why, self.draft = claimtop, {}, "", {}
        self.log, self.hold = folder / "log", folder / "hold"
        self.log.touch()
        self.output = open(folder / "output", "ab")
        self.environment = {
            **os.environ, **database.environment, "LOG": str(self.log), "HOLD": str(self.hold),
            "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config"),
        }
        limits = "".join(f'{key} = "{value}"\n' for key, value in system.limits.items())
        self.config = folder / "claimtop.toml"
        self.config.write_text(
            f'[source.it]\nat = "{database.source}"\nholders_on = "this-host"\n[source.it.limits]\n{limits}')
        self.workers: list[Worker] = []

    def run(self) -> None:
        """Every step until one fails; `done` says which went well."""
        try:
            self._call("setup")
            self._crash()
            self.draft = score(
                self.claimtop, self.database.source, self.system.profile, self.database.engine, self.environment)
            self._step("detect", self._detect)
            self._step("verdict", self._verdict)
            if not self.system.acts:
                return
            self._step("reclaim", self._reclaim)
            self._step("finish", self._finish)
            self._crash()
            self._verdict()
            self._step("undo", self._undo)
            self._reclaim()
            self._finish()
            self._call("enqueue")
            self._begin()
            try:
                self._step("healthy", self._healthy)
            finally:
                self._step("refused", self._refused)
        except (Failed, RuntimeError, subprocess.TimeoutExpired) as failed:
            self.why = self.why or str(failed)
        finally:
            for worker in self.workers:
                worker.kill()
            self.output.close()

    def _step(self, name: str, act) -> None:
        self.done[name] = False
        try:
            act()
        except Failed as failed:
            self.why += f"{name}: {failed} "
            raise
        self.done[name] = True

    # The system's own side.

    def _call(self, verb: str) -> None:
        done = subprocess.run(
            [*self.command, verb], env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=self.output, stderr=subprocess.STDOUT, timeout=PATIENCE)
        if done.returncode:
            raise Failed(f"{verb} ended with {done.returncode}; see {self.folder / 'output'}")

    def _count(self, word: str) -> int:
        return self.log.read_text().split().count(word)

    def _wait_for_log(self, word: str, count: int) -> None:
        wait_for(f"the worker to write {word!r} ({count})", lambda: self._count(word) >= count)

    def _begin(self) -> Worker:
        """A worker that has a job in its hands, and keeps it as long as the file `hold` exists."""
        self.hold.touch()
        before = self._count("started")
        worker = Worker(self)
        self.workers.append(worker)
        self._wait_for_log("started", before + 1)
        return worker

    def _crash(self) -> None:
        """A worker that is killed with a job in its hands; where a lease can be chosen, it is a short one."""
        self.environment["LEASE"] = "3"
        self._call("enqueue")
        worker = self._begin()
        if self.system.dies:
            worker.kill()
            # It may have been killed while it wrote. Whoever opens the database next takes that back; claimtop only looks.
            self.database.tables()
        del self.environment["LEASE"]

    # claimtop's side.

    def _claimtop(self, *arguments: str, source: str | None = None) -> subprocess.CompletedProcess:
        verb, *rest = arguments
        where = ["--config", str(self.config), "it"] if source is None else [source]
        return subprocess.run(
            [self.claimtop, verb, *where, *rest], env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE)

    def _claims(self) -> list[dict]:
        listed = self._claimtop("list", "--json", *self._pid_option())
        if listed.returncode:
            raise Failed(listed.stderr.strip())
        return [json.loads(line) for line in listed.stdout.splitlines()]

    def _confirmed(self) -> list[str]:
        """Table names that could be anybody's have to be confirmed by naming the profile."""
        return ["--yes", "--json", "--profile", self.system.profile]

    def _pid_option(self) -> list[str]:
        return [option for option in self.system.options if option == "--check-pid"]

    def _claim(self) -> dict:
        claims = self._claims()
        if not claims:
            raise Failed("no claim is listed")
        return claims[0]

    def _detect(self) -> None:
        done = subprocess.run(
            [self.claimtop, "profile", "detect", self.database.source], env=self.environment, capture_output=True,
            text=True, timeout=PATIENCE)
        lines = [line.split() for line in done.stdout.splitlines()]
        found = [name for name, verdict, *_ in lines if verdict == "fits"]
        if found != [self.system.profile]:
            raise Failed(f"found {found} {done.stderr.strip()}")
        used = {claim["profile"] for claim in self._claims()}
        if used != {self.system.profile}:
            raise Failed(f"claims by {sorted(used)}")

    def _verdict(self) -> None:
        verdict, *reasons = self.system.verdict
        code = {"stale": 2, "orphaned": 2, "healthy": 0}.get(verdict, 1)
        seen = {}

        def look():
            done = self._claimtop("check", "--json", *self._pid_option())
            if not done.stdout:
                raise Failed(done.stderr.strip())
            (source,) = json.loads(done.stdout)["sources"]
            if not source["ok"]:
                raise Failed(source["error"])
            seen.update(claims=source["claims"], reasons=source["reasons"], error=source["error"])
            has_reasons = all(source["reasons"].get(reason) for reason in reasons)
            return source["claims"][verdict] >= 1 and has_reasons and done.returncode == code

        try:
            wait_for(" ".join(self.system.verdict), look)
        except Failed as failed:
            raise Failed(f"{failed}: {seen}") from None

    def _reclaim(self) -> str:
        reason = ["--reason", "the worker was killed", *self.system.options]
        done = self._claimtop("reclaim", self._claim()["address"], *self._confirmed(), *reason)
        if done.returncode:
            raise Failed(f"exit {done.returncode}: {done.stdout.strip()} {done.stderr.strip()}")
        return json.loads(done.stdout.splitlines()[-1])["action_id"]

    def _finish(self) -> None:
        before = self._count("done")
        self.hold.unlink()
        worker = Worker(self)
        self.workers.append(worker)
        self._wait_for_log("done", before + 1)
        wait_for("no claim to be left", lambda: not self._claims())
        worker.end(signal.SIGTERM)

    def _rows(self) -> dict[str, list[str]]:
        tables = [table for table in self.database.tables() if table.split(".")[-1] not in self.system.left_by_undo]
        return {table: self.database.rows(table) for table in tables}

    def _undo(self) -> None:
        before = self._rows()
        action = self._reclaim()
        between = self._rows()
        done = self._claimtop("undo", action, "--yes")
        if done.returncode:
            raise Failed(f"exit {done.returncode}: {done.stdout.strip()} {done.stderr.strip()}")
        after = self._rows()
        if between == before:
            raise Failed("the reclaim changed nothing")
        for table, rows in before.items():
            if rows != after[table]:
                raise Failed(f"{table} was {rows}, is {after[table]}")

    def _healthy(self) -> None:
        done = self._claimtop("check", "--json", source=self.database.source)
        (source,) = json.loads(done.stdout)["sources"]
        if done.returncode or source["claims"]["total"] < 1:
            raise Failed(f"exit {done.returncode}: {source['claims']} {source['reasons']}")

    def _refused(self) -> None:
        address = self._claim()["address"]
        done = self._claimtop("reclaim", address, *self._confirmed(), source=self.database.source)
        if done.returncode != 5:
            raise Failed(f"exit {done.returncode}: {done.stdout.strip()} {done.stderr.strip()}")
