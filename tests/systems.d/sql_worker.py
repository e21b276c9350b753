"""The worker of a system whose library cannot be installed here: its own statements on its own tables.

The tables are the system's fixture. In `system.toml` a table `sql` has the statements `setup`, `enqueue`,
`register`, `claim`, `beat` and `finish`. `claim` returns the values that `finish` uses as :1, :2 and so on;
:worker, :pid and :host name the process, :utc is the time. Where nothing is enqueued, a worker works once.
"""

import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path


class SqliteSession:
    def __init__(self):
        self.connection = sqlite3.connect(os.environ["DATABASE"], timeout=30, isolation_level=None)

    def run(self, sql: str) -> list[list[str]]:
        *first, last = [part for part in sql.split(";\n") if part.strip()]
        for part in first:
            self.connection.execute(part)
        return [list(map(str, row)) for row in self.connection.execute(last).fetchall()]


class PostgresSession:
    """One session from beginning to end: some systems keep their claim in it."""

    def __init__(self):
        psql = Path(os.environ["CLAIMTOP_PG_BIN"]) / "psql"
        self.process = subprocess.Popen(
            [psql, "-XAtq", "-v", "ON_ERROR_STOP=1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, sql: str) -> list[list[str]]:
        self.process.stdin.write(f"{sql.rstrip().rstrip(';')};\n\\echo -- end\n")
        self.process.stdin.flush()
        rows = []
        for line in self.process.stdout:
            if line == "-- end\n":
                return rows
            rows.append(line.rstrip("\n").split("|"))
        sys.exit("psql ended")


def filled(sql: str, claim: list[str]) -> str:
    """The statement with its words as literals."""
    words = {
        "worker": f"{socket.gethostname()}:{os.getpid()}", "pid": str(os.getpid()), "host": socket.gethostname(),
        "utc": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f"),
        **{str(place): value for place, value in enumerate(claim, 1)},
    }
    quoted = {word: "'" + value.replace("'", "''") + "'" for word, value in words.items()}
    return re.sub(r"(?<![:\w]):(\w+)", lambda found: quoted.get(found[1], found[0]), sql)


def write(word: str) -> None:
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{word}\n")


def work(session, statements: dict[str, str]) -> None:
    def run(name: str, claim: list[str] = []) -> list[list[str]]:
        return session.run(filled(statements[name], claim)) if name in statements else []

    run("register")
    while True:
        claims = run("claim")
        if not claims:
            time.sleep(0.1)
            continue
        write("started")
        beat_at = 0.0
        while os.path.exists(os.environ["HOLD"]):
            if time.monotonic() >= beat_at + 2:
                run("beat", claims[0])
                beat_at = time.monotonic()
            time.sleep(0.05)
        run("finish", claims[0])
        write("done")
        if "enqueue" not in statements:
            return


def main() -> None:
    folder, verb = Path(sys.argv[1]), sys.argv[2]
    engine = os.environ["ENGINE"]
    described = tomllib.loads((folder / "system.toml").read_text())["sql"]
    statements = {**described, **described.pop(engine, {})}
    session = SqliteSession() if engine == "sqlite" else PostgresSession()
    if verb == "setup":
        fixture = Path(__file__).parent.parent / "it/systems/fixtures" / f"{folder.name}.{engine}.sql"
        for part in fixture.read_text().split(";\n"):
            if part.strip():
                session.run(part)
        if "setup" in statements:
            session.run(statements["setup"])
    elif verb == "enqueue":
        if verb in statements:
            session.run(filled(statements[verb], []))
    else:
        work(session, statements)


main()
