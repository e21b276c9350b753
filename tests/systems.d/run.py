"""Runs the proofs of all systems, or of those that are named, and prints the table."""

import argparse
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from database import ENGINES
from draft import ASKED
from libraries import Libraries
from proof import FOLDER, STEPS, Failed, Proof, System

RESULTS = FOLDER.parent.parent / "assets/proof.tsv"
FIXTURES = FOLDER.parent / "it/systems/fixtures"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/systems", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SYSTEM", help="a folder of tests/systems.d [default: all]")
    parser.add_argument("--ci", action="store_true", help="only those on SQLite, and two on PostgreSQL")
    parser.add_argument("--jobs", type=int, default=4, help="how many at once [default: 4]")
    parser.add_argument("--record", action="store_true", help="keep what was found in assets/proof.tsv")
    parser.add_argument("--fixtures", action="store_true", help="write the tables of the libraries as fixtures")
    parser.add_argument("--no-registry", action="store_true", help="as if no registry answered")
    parser.add_argument("--claimtop", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the libraries are installed")
    return parser.parse_args()


def prove(system: System, engine: str, libraries: Libraries, options: argparse.Namespace, folder: Path) -> Proof:
    name = f"{system.name}-{engine}"
    place = folder / name
    place.mkdir()
    database = ENGINES[engine](system.name, place)
    proof = Proof(system, database, libraries.command(system), place, options.claimtop)
    proof.run()
    if options.fixtures and system.is_real and proof.done:
        (FIXTURES / f"{system.name}.{engine}.sql").write_text(database.schema())
    print(f"{'.' if all(proof.done.values()) and proof.done else 'x'} {name} {proof.why}", file=sys.stderr, flush=True)
    return proof


def marks(proof: Proof) -> list[str]:
    """A tick or a cross for each step; a dash for a step that the system does not have."""
    asked = STEPS if proof.system.acts else STEPS[:2]
    return ["-" if step not in asked else "✓" if proof.done.get(step) else "✗" for step in STEPS]


def table(proofs: list[Proof]) -> str:
    rows = [["system", "version", "engine", "run as", *STEPS]]
    for proof in proofs:
        how = "library" if proof.system.is_real else "schema"
        rows.append([proof.system.name, proof.system.version, proof.database.engine, how, *marks(proof)])
    return aligned(rows)


def drafts(proofs: list[Proof]) -> str:
    """What `profile draft` found, and what it said where that was something else."""
    drafted = [proof for proof in proofs if proof.draft]
    rows = [["draft of", "engine", *ASKED]]
    rows += [[proof.system.name, proof.database.engine, *proof.draft.values()] for proof in drafted]
    right = [sum(proof.draft[what] == "✓" for proof in drafted) for what in ASKED]
    return aligned([*rows, ["right", "", *(f"{count}/{len(drafted)}" for count in right)]])


def aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def record(proofs: list[Proof]) -> None:
    """Replaces the lines of what was run; the others stay."""
    known = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines()[1:]:
            system, _, engine, *_ = line.split("\t")
            known[system, engine] = line
    for proof in proofs:
        system, engine = proof.system, proof.database.engine
        how = "library" if system.is_real else "schema"
        cells = [system.name, system.profile, engine, system.version, how, *marks(proof)]
        known[system.name, engine] = "\t".join(cells)
    heading = "\t".join(["system", "profile", "engine", "version", "run as", *STEPS])
    RESULTS.write_text("\n".join([heading, *(known[key] for key in sorted(known))]) + "\n")


def main() -> int:
    options = arguments()
    every = sorted(path.parent.name for path in FOLDER.glob("*/system.toml"))
    systems = [System(name) for name in options.names or every]
    pairs = [(system, engine) for system in systems for engine in (system.ci if options.ci else system.engines)]
    options.folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    libraries = Libraries(options.folder, 300 if options.ci else 3600, has_registry=not options.no_registry)
    libraries.install([system for system in systems if any(system is asked for asked, _ in pairs)])
    pairs = [pair for pair in pairs if pair[0].name not in libraries.missing]
    installed = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="claimtop-systems-"))
    with ThreadPoolExecutor(options.jobs) as pool:
        proofs = list(pool.map(lambda pair: prove(*pair, libraries, options, folder), pairs))
    print(table(proofs))
    print(f"\n{drafts(proofs)}\n")
    print(f"installed in {installed - began:.0f} s, run in {time.monotonic() - installed:.0f} s")
    for name, why in libraries.missing.items():
        print(f"NOT RUN: {name}: {why}")
    failures = [proof for proof in proofs if "✗" in marks(proof)]
    for proof in failures:
        print(f"{proof.system.name} on {proof.database.engine}: {proof.why} (see {proof.folder / 'output'})")
    if options.record:
        record(proofs)
    if not failures:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


sys.exit(main())
