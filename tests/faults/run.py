#!/usr/bin/env python3
"""Injects faults into training programs, and checks the report of Muster and the result of the training.

scripts/faults describes the arguments. Each run has its own server and workers, on hosts that are network namespaces.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "robustness"), str(ROOT / "python")]

import muster  # noqa: E402
from faults import KINDS, NONE, Kind  # noqa: E402
from inflict import VICTIM  # noqa: E402
from muster.rest.programs import ENDED  # noqa: E402
from network import Namespaces, make_namespaces  # noqa: E402
from processes import ADMIN_TOKEN, Process, Servers  # noqa: E402

FRAMEWORKS = ("plain", "jax", "torch")
HOSTS = 3
RANKS_OF_HOST = 2
HANG_SECONDS = 3.0
RUN_LIMIT = 150.0
COLUMNS = ("kind", "framework", "commit", "verdict", "named", "seconds_to_name", "seconds_to_next_step", "exact", "attempts", "text")


@dataclasses.dataclass
class Result:
    """The result of one run."""

    kind: str
    framework: str
    commit: str
    verdict: str = "unexpected"
    """`expected` or `unexpected`."""
    named: str = "no"
    """Whether the report is as required: `yes`, `no`, or `undecided` (see Kind.names)."""
    seconds_to_name: float = -1.0
    """From the fault until the server reported its cause; -1 if it did not, or if there is nothing to report."""
    seconds_to_next_step: float = -1.0
    """From the fault until the first step of the next attempt; -1 if there was none."""
    exact: str = "no"
    """The final parameters of all ranks equal those of an undisturbed run: `yes`, `no`, or `-` if the program cannot recover."""
    attempts: int = 0
    text: str = ""

    def row(self) -> str:
        values = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in dataclasses.astuple(self)]
        return "\t".join(" ".join(value.split()) for value in values)


class Run:
    """One run in one folder."""

    def __init__(self, words: argparse.Namespace, network: Namespaces, kind: Kind, framework: str, folder: pathlib.Path) -> None:
        self.kind, self.framework, self.folder, self.network = kind, framework, folder, network
        self.machines, self.hosts = words.machines, HOSTS
        (folder / "checkpoints").mkdir(parents=True)
        self.slow: set[int] = set()
        self.ranks_of_victims_host: set[int] = set()
        self.victim_host, self.victim_worker = "host-1", "worker:1"
        self.first_attempt_ended = threading.Event()
        self._over = threading.Event()
        self._endings: list[Callable[[], Any]] = []
        self._occupying: list[Process] = []
        self.servers = Servers(words.binary, folder, kind.store, 1, words.disk_library, network)
        for server in self.servers.servers:
            server.command += kind.serve
        environment = {"MUSTER_TOKEN": ADMIN_TOKEN, "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT / "python")]),
                       "PYTHONPYCACHEPREFIX": str(words.keep.resolve() / "pycache")}
        self.workers = []
        for n in range(HOSTS):
            host = f"host-{n}"
            command = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host, str(words.binary), "worker", "--server",
                       ",".join(self.servers.grpc), "--index", str(n), "--allow-programs", "--program-lease", f"{kind.lease}s",
                       "--program-dir", str(folder / f"programs-{n}")]
            self.workers.append(Process(f"worker-{n}", command, folder, network, host, environment))
        self.python = words.torch_python if framework == "torch" else words.python

    # Methods that the kinds of faults call.

    def at_end(self, ending: Callable[[], Any]) -> None:
        self._endings.append(ending)

    def wait(self, seconds: float) -> None:
        """Returns after a time, or when the program has ended."""
        self._over.wait(seconds)

    def wait_until(self, event: threading.Event) -> None:
        while not event.wait(0.05) and not self._over.is_set():
            pass

    def worker_on(self, host: str) -> Process:
        return next(w for w in self.workers if w.machine == host)

    def pid_of_victim(self) -> int:
        return next(int(rank["pid"]) for rank in self.program.ranks() if rank["rank"] == VICTIM)

    def occupy(self, host: str, port: int) -> None:
        code = f"import socket, signal; s = socket.create_server(('127.0.0.1', {port})); signal.pause()"
        process = Process(f"occupies-{host}", [sys.executable, "-c", code], self.folder, self.network, host)
        process.start()
        self._occupying.append(process)

    def stop_occupying(self) -> None:
        for process in self._occupying:
            process.kill()

    # The run.

    def run(self, reference: bytes | None, commit: str) -> Result:
        result = Result(self.kind.name, self.framework, commit)
        try:
            self.servers.start()
            for worker in self.workers:
                worker.start()
            if self.kind.prepare:
                self.kind.prepare(self)
            self._launch()
            self._watch(result)
            self._judge(result, reference)
        finally:
            self._over.set()
            self.stop_occupying()
            self.network.heal()
            for worker in self.workers:
                worker.kill()
            self.servers.stop()
            for ending in reversed(self._endings):
                ending()
        return result

    def _launch(self) -> None:
        command = [self.python, str(HERE / "train.py"), self.framework, str(self.folder), self.kind.name]
        self._wait_for_workers()
        self.program = muster.launch(
            command, self.kind.tasks, url=",".join(self.servers.http), token=ADMIN_TOKEN, name=self.kind.name,
            per_worker=RANKS_OF_HOST, max_restarts=3, on_hang="restart", hang_after=HANG_SECONDS, restart_grace=0.5, grace=2.0,
            store="rank0", env={"FAULTS_STEPS": str(self.kind.steps), "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1",
                                "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT / "python")])})

    def _wait_for_workers(self) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(Exception):
                url = self.servers.await_ready()
                rows = muster.Client(url=url, token=ADMIN_TOKEN).tasks()
                if sum(row["state"] == "CONNECTED" and row["job"] == "worker" for row in rows) == HOSTS:
                    return
            time.sleep(0.05)
        raise TimeoutError(f"the workers did not connect; see {self.folder}")

    def _watch(self, result: Result) -> None:
        """Follows the program until it has ended. Starts `act` once the file `struck` exists."""
        end = time.monotonic() + RUN_LIMIT
        acting: threading.Thread | None = None
        struck: float | None = None
        while time.monotonic() < end:
            if struck is None and (self.folder / "struck").exists():
                time.sleep(0.01)  # the time is being written
                struck = float((self.folder / "struck").read_text() or time.time())
                if self.kind.act:
                    acting = threading.Thread(target=self.kind.act, args=(self,), daemon=True)
                    acting.start()
            try:
                view = self.program.refresh()
                self._look(view)
                if result.seconds_to_name < 0 and struck is not None and self._is_named():
                    result.seconds_to_name = time.time() - struck
                if view["attempt"] > 1 or view["state"] in (*ENDED, "RESTARTING"):
                    self.first_attempt_ended.set()
                if view["state"] in ENDED:
                    break
            except muster.MusterError:
                pass  # the server is unreachable
            time.sleep(0.05)
        self._over.set()
        if acting:
            acting.join(CUT_LIMIT)
        if struck is not None and (self.folder / "steps").exists():
            for line in (self.folder / "steps").read_text().splitlines():
                attempt, _, at = line.split()
                if int(attempt) > 1 and float(at) > struck:
                    result.seconds_to_next_step = float(at) - struck
                    break

    def _look(self, view: dict[str, Any]) -> None:
        self.slow |= {int(rank["rank"]) for rank in view.get("steps", {}).get("slow", [])}
        if not self.ranks_of_victims_host and view["attempt"] == 1 and view.get("started") == self.kind.tasks:
            ranks = self.program.ranks()
            victim = next(rank for rank in ranks if rank["rank"] == VICTIM)
            self.victim_worker = str(victim["worker"])
            self.victim_host = f"host-{self.victim_worker.split(':')[1]}"
            self.ranks_of_victims_host = {int(rank["rank"]) for rank in ranks if rank["worker"] == victim["worker"]}

    def _is_named(self) -> bool:
        if self.slow or self.program.view.get("hang"):
            return True
        return any(attempt["attempt"] == 1 and attempt.get("cause") for attempt in self.program.attempts())

    def _judge(self, result: Result, reference: bytes | None) -> None:
        kind = self.kind
        view = self.program.refresh()
        attempts = sorted(self.program.attempts(), key=lambda a: int(a["attempt"]))
        named = kind.names(self, attempts)
        result.named = {True: "yes", False: "no", None: "undecided"}[named]
        result.attempts = len(attempts)
        cause = attempts[0].get("cause") or {} if attempts else {}
        result.text = str(cause.get("text", "")) or (f"slow: {sorted(self.slow)}" if self.slow else "")
        finals = [path.read_bytes() for n in range(kind.tasks) if (path := self.folder / f"final-{n}").exists()]
        if kind.recovers:
            same = len(finals) == kind.tasks and len(set(finals)) == 1
            result.exact = "yes" if same and reference in (None, finals[0]) else "no"
            ended = view["state"] == "SUCCEEDED" and result.exact == "yes"
        else:
            result.exact = "-"
            ended = view["state"] == "FAILED" and not finals
        if ended and named is not False and kind.attempts[0] <= len(attempts) <= kind.attempts[1]:
            result.verdict = "expected"
        elif view["state"] not in ENDED:
            result.text = f"{view['state']} after {RUN_LIMIT:g} s; {result.text}"


CUT_LIMIT = 20.0


def references(words: argparse.Namespace, network: Namespaces, framework: str, steps: int, commit: str) -> bytes:
    """Returns the final parameters of an undisturbed run."""
    path = words.keep / f"reference-{framework}-{steps}"
    if not path.exists():
        run = Run(words, network, dataclasses.replace(NONE, steps=steps), framework, new_folder(words, f"none-{framework}"))
        result = run.run(None, commit)
        if result.verdict != "expected":
            raise SystemExit(f"faults: the undisturbed run of {framework} failed: {result.text}; see {run.folder}")
        path.write_bytes((run.folder / "final-0").read_bytes())
        shutil.rmtree(run.folder)
    return path.read_bytes()


def new_folder(words: argparse.Namespace, name: str) -> pathlib.Path:
    for n in range(100_000):
        folder: pathlib.Path = words.keep.resolve() / f"{name}-{n}"
        if not folder.exists():
            return folder
    raise OSError("too many folders")


def rows_of(path: pathlib.Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    return [dict(zip(COLUMNS, line.split("\t"))) for line in path.read_text().splitlines()[1:]]


def table(rows: list[dict[str, str]]) -> str:
    """Returns all results as a Markdown table, with medians of the times: a line for each kind and framework."""
    lines = ["| kind | framework | runs | as expected | report correct | no rank named | seconds to the report | "
             "seconds to the next step | exact |",
             "|---|---|---|---|---|---|---|---|---|"]
    for kind in KINDS:
        for framework in FRAMEWORKS:
            own = [row for row in rows if (row["kind"], row["framework"]) == (kind.name, framework)]
            if not own:
                continue

            def median(column: str, own: list[dict[str, str]] = own) -> str:
                values = sorted(float(row[column]) for row in own if float(row[column]) >= 0)
                return f"{values[len(values) // 2]:.1f}" if values else ""
            exact = sum(row["exact"] == "yes" for row in own) if kind.recovers else None
            lines.append(f"| {kind.name} | {framework} | {len(own)} | {sum(row['verdict'] == 'expected' for row in own)} | "
                         f"{sum(row['named'] == 'yes' for row in own)} | {sum(row['named'] == 'undecided' for row in own)} | "
                         f"{median('seconds_to_name')} | {median('seconds_to_next_step')} | "
                         f"{'-' if exact is None else exact} |")
    return "\n".join(lines)


def commit_of_tree() -> str:
    done = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(prog="faults")
    parser.add_argument("--kind", action="append", metavar="K", help="only this kind of fault (repeatable)")
    parser.add_argument("--framework", action="append", choices=FRAMEWORKS, help="only this framework (repeatable)")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="runs of each kind and framework (default: 1)")
    parser.add_argument("--list", action="store_true", help="print the kinds of faults")
    parser.add_argument("--table", action="store_true", help="only print the table of all results so far")
    parser.add_argument("--results", type=pathlib.Path, help="file of results (default: build/faults/results.tsv)")
    parser.add_argument("--keep", type=pathlib.Path, default=ROOT / "build" / "faults", metavar="DIR", help="folder of failed runs")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/muster", help="program to test")
    parser.add_argument("--torch-python", default="/usr/bin/python3", help="interpreter with torch (default: Debian's)")
    parser.add_argument("--disk-library", type=pathlib.Path, help=argparse.SUPPRESS)
    words = parser.parse_args()
    words.results = words.results or words.keep / "results.tsv"
    unknown = set(words.kind or ()) - {kind.name for kind in KINDS}
    if unknown:
        print(f"faults: there is no kind {unknown.pop()!r}; see scripts/faults --list", file=sys.stderr)
        return 2
    if words.list:
        for kind in KINDS:
            print(f"{kind.name}: {kind.what} Expected: {kind.expected}.")
        return 0
    if words.table:
        print(table(rows_of(words.results)))
        return 0
    return run_all(words)


def run_all(words: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends all processes of the run
    words.python = sys.executable
    words.binary = words.binary.resolve()
    words.keep.mkdir(parents=True, exist_ok=True)
    words.machines = ["server-0", "server-1", "etcd-0", "etcd-1", "etcd-2", *(f"host-{n}" for n in range(HOSTS))]
    network = make_namespaces(words.machines)
    hosts = words.keep.resolve() / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{network.address(m)} {m}\n" for m in words.machines))
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)
    if not words.results.is_file():
        words.results.write_text("\t".join(COLUMNS) + "\n")
    commit = commit_of_tree()
    known = [row for row in rows_of(words.results) if row["commit"] == commit]
    failed = count = 0
    for _ in range(words.runs):
        for kind in KINDS:
            for framework in words.framework or FRAMEWORKS:
                if words.kind and kind.name not in words.kind:
                    continue
                count += 1
                done = next((row for row in known if (row["kind"], row["framework"]) == (kind.name, framework)), None)
                if done:
                    known.remove(done)
                    failed += done["verdict"] != "expected"
                    continue
                result = run_once(words, network, kind, framework, commit)
                failed += result.verdict != "expected"
    print(f"{count - failed} passed, {failed} failed")
    return int(failed > 0)


def run_once(words: argparse.Namespace, network: Namespaces, kind: Kind, framework: str, commit: str) -> Result:
    reference = references(words, network, framework, kind.steps, commit) if kind.recovers else None
    run = Run(words, network, kind, framework, new_folder(words, f"{kind.name}-{framework}"))
    begun = time.monotonic()
    try:
        result = run.run(reference, commit)
    except Exception as error:
        result = Result(kind.name, framework, commit, text=f"the run failed: {error!r}")
    with words.results.open("a") as file:
        file.write(result.row() + "\n")
    print(f"{result.verdict:10} {kind.name}, {framework}: named {result.named} in {result.seconds_to_name:.1f} s, next step after "
          f"{result.seconds_to_next_step:.1f} s, exact {result.exact}, {result.attempts} attempts "
          f"({time.monotonic() - begun:.0f} s): {result.text}", flush=True)
    if result.verdict == "expected":
        shutil.rmtree(run.folder, ignore_errors=True)
    else:
        print(f"           kept: {run.folder}", flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
