#!/usr/bin/env python3
"""Tests the tests: applies each deliberate bug of mutants/ and checks that a test fails.

scripts/mutation describes the arguments.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import fnmatch
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Iterator, Sequence

from mutants import ROOT, SIMULATORS, BadMutant, Mutant, check, copy_tree, load

FOLDER = ROOT / "build" / "mutation"
TREE = FOLDER / "tree"
BIN = TREE / "build" / "release" / "bin"
PYTHON = ROOT / "build" / "python" / "environment" / "bin" / "python"
STAGES = ("unit", "simulation", "robustness")
COLUMNS = ("mutant", "digest", "commit", "stage", "noticed_by", "seconds")
UNIT_LIMIT = 240.0
ROBUSTNESS_LIMIT = 420.0
SEEDS = {"simulate": 25, "coordination_simulate": 5_000, "event_fuzz": 100}
"""Seeds of each simulator: ten to fifteen seconds each."""


@dataclasses.dataclass(frozen=True)
class Command:
    """One command of a stage. It notices a mutant if it fails or exceeds its limit."""

    name: str
    words: tuple[str, ...]
    limit: float
    folder: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Result:
    mutant: str
    digest: str
    commit: str
    stage: str
    """`unit`, `simulation` or `robustness`; `none` if no stage noticed the mutant, and `none until STAGE` if not all stages ran."""
    noticed_by: str
    seconds: float

    def row(self) -> str:
        return "\t".join(f"{value:.1f}" if isinstance(value, float) else str(value) for value in dataclasses.astuple(self))


def stages(m: Mutant) -> list[tuple[str, list[Command]]]:
    """Returns the stages of a mutant, cheapest first."""
    if m.is_python:
        unit = [Command(test, (str(PYTHON), "-m", "pytest", "-p", "no:cacheprovider", "-q", "-x", test), UNIT_LIMIT,
                        TREE / "python" / "tests") for test in m.tests]
    else:
        unit = []
        for test in m.tests:
            program, _, pattern = test.partition(":")
            unit.append(Command(test, (str(BIN / program), "--gtest_fail_fast", f"--gtest_filter={pattern or '*'}"),
                                UNIT_LIMIT, TREE))
    simulation = [Command(f"{name} --from 1 --count {SEEDS[name]}",
                          (str(BIN / name), "--from", "1", "--count", str(SEEDS[name])), UNIT_LIMIT, TREE)
                  for name in m.simulators]
    robustness = Command(f"robustness --store {m.store}",
                         ("scripts/robustness", "--minutes", "0.5", "--seed", "51", "--store", m.store),
                         ROBUSTNESS_LIMIT, TREE)
    return [("unit", unit), ("simulation", simulation), ("robustness", [robustness])]


def run(command: Command, mutant: int) -> str | None:
    """Runs a command with a mutant (0: none). Returns None if it passes, or the test that failed."""
    environment = {**os.environ, "MUTANT": str(mutant), "MUSTER_BINARY": str(BIN / "muster"), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(command.words, cwd=command.folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(command.limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:  # also the servers that a failed test left
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        if status == 0:
            return None
        output.seek(0)
        return f"{failed_test(output.read()) or command.name}{'' if status is not None else ' (time limit)'}"


def failed_test(output: str) -> str | None:
    """Returns the name of the first failed test in the output of GoogleTest, pytest or a simulator."""
    for pattern in (r"^\[  FAILED  \] ([\w./]+)", r"^FAILED (\S+)", r"^replay: \S*?(\w+ --seed \d+)"):
        if found := re.search(pattern, output, re.MULTILINE):
            return found[1]
    begun = re.findall(r"^\[ RUN      \] ([\w./]+)", output, re.MULTILINE)
    return f"{begun[-1]} (aborted)" if begun else None


class Baseline:
    """Checks once that each command passes without a mutant."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._passed: dict[Command, threading.Lock] = {}
        self._failed: dict[Command, str | None] = {}

    def check(self, command: Command) -> None:
        """Raises BadMutant if the command fails without a mutant."""
        with self._lock:
            own = self._passed.setdefault(command, threading.Lock())
        with own:
            if command not in self._failed:
                self._failed[command] = run(command, 0)
            if self._failed[command]:
                raise BadMutant(f"{command.name} fails without a mutant: {self._failed[command]}")


@contextlib.contextmanager
def applied(m: Mutant) -> Iterator[None]:
    """Changes the copy of the Python package while a Python mutant is tested. C++ mutants are in the build."""
    if not m.is_python:
        yield
        return
    path = TREE / m.file
    original = path.read_text(encoding="utf-8")
    path.write_text(original.replace(m.find, m.replace), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(original, encoding="utf-8")


def test(m: Mutant, commit: str, baseline: Baseline, names: Sequence[str]) -> Result:
    """Runs the named stages until one notices the mutant."""
    begun = time.monotonic()
    for stage, commands in stages(m):
        for command in commands if stage in names else ():
            baseline.check(command)
            with applied(m):
                noticed = run(command, m.number)
            if noticed:
                return Result(m.name, m.digest, commit, stage, noticed, time.monotonic() - begun)
    last = names[-1] if names else STAGES[-1]
    return Result(m.name, m.digest, commit, "none" if last == STAGES[-1] else f"none until {last}", "", time.monotonic() - begun)


def commit_of_tree() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "--short=12", "HEAD") + ("-changed" if git("status", "--porcelain") else "")


def build(chosen: list[Mutant]) -> None:
    subprocess.run(["cmake", "--preset", "release", "-DMUSTER_TESTS=ON"], cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    targets = {test.partition(":")[0] for m in chosen if not m.is_python for test in m.tests}
    targets |= {*SIMULATORS, "muster", "robustness_calls"}
    subprocess.run(["scripts/build", "release", *sorted(targets)], cwd=TREE, check=True, stdout=sys.stderr)
    environments = TREE / "build" / "python"
    if not environments.exists():
        environments.symlink_to(ROOT / "build" / "python")


def earlier_results(path: pathlib.Path) -> dict[tuple[str, str, str], Result]:
    """Returns the results of earlier runs by mutant, digest and commit."""
    results = {}
    if path.is_file():
        for line in path.read_text().splitlines()[1:]:
            *words, seconds = line.split("\t")
            result = Result(*words, float(seconds))
            results[result.mutant, result.digest, result.commit] = result
    return results


def report(results: list[Result], count: int) -> int:
    """Prints the summary, and returns the exit status."""
    by_stage: dict[str, list[Result]] = {}
    for result in results:
        by_stage.setdefault(result.stage, []).append(result)
    print()
    for stage, name in (("unit", "unit tests"), ("simulation", "simulators"), ("robustness", "robustness run")):
        print(f"noticed by {name}: {len(by_stage.get(stage, []))}")
    survived = [result for result in results if not result.noticed_by]
    for result in survived:
        print(f"no test noticed: {result.mutant}")
    print(f"{len(results) - len(survived)} passed, {len(survived)} failed" +
          (f", {count - len(results)} not run" if count > len(results) else ""))
    return 0 if not survived and count == len(results) else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutation")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this mutant; * matches any text (repeatable)")
    parser.add_argument("--until", choices=STAGES, default=STAGES[-1],
                        help="the last stage to run (default: robustness)")
    parser.add_argument("--again", action="store_true", help="also mutants with a result for this commit")
    parser.add_argument("--list", action="store_true", help="print name and bug of each mutant")
    parser.add_argument("--check", action="store_true", help="only check that all mutants fit the tree")
    parser.add_argument("--results", type=pathlib.Path, default=FOLDER / "results.tsv", metavar="FILE",
                        help="file of results (default: build/mutation/results.tsv)")
    words = parser.parse_args()
    try:
        all_mutants = load()
        check(all_mutants)
        chosen = [m for m in all_mutants if not words.only or any(fnmatch.fnmatch(m.name, name) for name in words.only)]
        if not chosen:
            raise BadMutant(f"no mutant matches {' or '.join(words.only)}; see scripts/mutation --list")
        if words.list:
            for m in chosen:
                print(f"{m.name}\n  {m.file}: {m.what}")
            return 0
        if words.check:
            print(f"{len(all_mutants)} mutants fit the tree")
            return 0
        return run_all(words, all_mutants, chosen)
    except BadMutant as error:
        print(f"mutation: {error}", file=sys.stderr)
        return 2


def run_all(words: argparse.Namespace, all_mutants: list[Mutant], chosen: list[Mutant]) -> int:
    commit = commit_of_tree()
    TREE.mkdir(parents=True, exist_ok=True)
    copy_tree(TREE, all_mutants)
    build(all_mutants)
    words.results.parent.mkdir(parents=True, exist_ok=True)
    if not words.results.is_file():
        words.results.write_text("\t".join(COLUMNS) + "\n")
    known = {} if words.again else earlier_results(words.results)
    results, baseline, lock = [], Baseline(), threading.Lock()

    def note(result: Result) -> None:
        with lock:
            results.append(result)
            noticed = f"{result.stage}: {result.noticed_by}" if result.noticed_by else "NO TEST NOTICED"
            print(f"[{len(results)}/{len(chosen)}] {result.mutant}: {noticed} ({result.seconds:.0f} s)", flush=True)

    def note_new(result: Result) -> None:
        with lock, open(words.results, "a") as file:
            file.write(result.row() + "\n")
        note(result)

    waiting = []
    for m in chosen:
        earlier = known.get((m.name, m.digest, commit))
        if earlier and not earlier.stage.startswith("none until"):
            note(earlier)
        else:
            waiting.append(m)
    names = STAGES[:STAGES.index(words.until) + 1]
    cheap, last = names[:2], names[2:]
    unnoticed = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        of_cpp = [threads.submit(test, m, commit, baseline, cheap) for m in waiting if not m.is_python]
        for done in concurrent.futures.as_completed(of_cpp):
            result = done.result()
            if not result.noticed_by and last:
                unnoticed.add(result.mutant)
            else:
                note_new(result)
    for m in waiting:  # one at a time: robustness runs need all cores, and Python mutants change one copy
        if m.is_python or m.name in unnoticed:
            note_new(test(m, commit, baseline, names if m.is_python else last))
    shutil.rmtree(TREE / "build" / "robustness", ignore_errors=True)
    return report(results, len(chosen))


if __name__ == "__main__":
    sys.exit(main())
