"""What a job does in every worker written in Python."""

import asyncio
import os
import time

# How long a claim lasts, in seconds, where the library lets its user choose: unset, its default.
LEASE = int(os.environ["LEASE"]) if "LEASE" in os.environ else None


def _write(word: str) -> None:
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{word}\n")


def step(_) -> None:
    """The same, for a library that hands the job over."""
    job()


def is_held() -> bool:
    return os.path.exists(os.environ["HOLD"])


def job() -> None:
    _write("started")
    while is_held():
        time.sleep(0.05)
    _write("done")


async def async_job() -> None:
    """The same without stopping the library's own heartbeats."""
    _write("started")
    while is_held():
        await asyncio.sleep(0.05)
    _write("done")
