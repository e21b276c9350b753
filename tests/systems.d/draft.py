"""How much of a profile `claimtop profile draft` finds by itself: it knows none of the built-in profiles."""

import re
import subprocess
import tomllib
from pathlib import Path

ASKED = ["table", "holder", "claimed_at", "beat_at", "deadline"]


def score(claimtop: Path, source: str, profile: str, engine: str, environment: dict[str, str]) -> dict[str, str]:
    """For each of what is asked a tick, or what the draft says instead."""
    def run(*arguments: str) -> str:
        done = subprocess.run(
            [claimtop, "profile", *arguments], env=environment, capture_output=True, text=True, timeout=600)
        return done.stdout if done.returncode == 0 else ""

    drafted = tomllib.loads(run("draft", source)).get("claim")
    if not drafted:
        return dict.fromkeys(ASKED, "none")
    said = columns(drafted[0])
    board = next((board for board in boards(run("show", profile), engine) if same(board["table"], said["table"])), None)
    if board is None:
        return {**dict.fromkeys(ASKED, "✗"), "table": said["table"]}
    return {what: "✓" if agrees(board, what, said[what]) else said[what] for what in ASKED}


def boards(text: str, engine: str) -> list[dict]:
    """The claims of a profile as they are on one engine, with the usual values of its variables."""
    for name, value in tomllib.loads(text).get("vars", {}).items():
        text = text.replace(f"{{{name}}}", value[0] if isinstance(value, list) else value)
    return [merged(board, board.get("on", {}).get(engine, {})) for board in tomllib.loads(text)["claim"]]


def merged(base: dict, over: dict) -> dict:
    both = {key: merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
            for key, value in over.items()}
    return {**base, **both}


def same(table: str, other: str) -> bool:
    return table.lower() == other.lower()


def sql(value: str | dict | None) -> str | None:
    """The column or expression of a value."""
    return value.get("expr") or value.get("column") if isinstance(value, dict) else value


def columns(board: dict) -> dict[str, str]:
    """The columns of a draft by what they are, `-` where it has none."""
    deadline = board["deadline"]
    if deadline.get("column"):
        ends = bare(sql(deadline["column"]))
    elif deadline.get("claimed_at_plus"):
        ends = deadline["claimed_at_plus"]
    else:
        ends = "holder" if deadline.get("holder") else "-"
    return {"table": board["table"], "deadline": ends,
            **{what: bare(sql(board.get(what))) for what in ("holder", "claimed_at", "beat_at")}}


def bare(text: str | None) -> str:
    """The column in a value, which may be the last element of a list."""
    return re.match(r"\w*", text.split("c.", 1)[-1])[0] if text else "-"


def agrees(board: dict, what: str, drafted: str) -> bool:
    """Whether a profile has this column, among others, for what is asked."""
    if what == "table":
        return True
    deadline = board["deadline"]
    if what == "deadline":
        known = "holder" if deadline.get("holder") else sql(deadline.get("column")) or deadline.get("claimed_at_plus")
    else:
        known = sql(board.get(what))
    # A fixed text stands in for a holder that the system does not have.
    if known is None or what == "holder" and known.startswith("'"):
        return drafted == "-"
    return drafted.lower() in (word.lower() for word in re.findall(r"\w+", known))
