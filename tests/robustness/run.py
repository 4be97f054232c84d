#!/usr/bin/env python3
"""Runs a seeded workload with faults against real servers, and checks the histories of all clients.

scripts/robustness describes the arguments. A run consists of rounds; each has its own servers, directory and seed.
"""
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
from typing import Any, Callable

import models
import timeline
from nemesis import ON_REQUEST, PROCESSES, Nemesis, names_for
from network import Loopback, make_namespaces
from processes import ADMIN_TOKEN, HERE, ROOT, Process, Servers, Stuck, get, get_text, program_worker_command, worker_command
from recorder import Recorder, read

AGENTS = 3
ROUND_SECONDS = 60.0
SETTLE_LIMIT = 100.0
AGENT_END = 1.0
UNUSED_ROUNDS = 3
"""Rounds after which a kind of data without an operation is a violation. Agents can spend a short run on waiting for each other."""
SLOW_END = 15.0
"""Seconds after which the end of a client is printed, because a client that waits so long missed that servers serve again."""
MEMORY_LIMIT = 4 << 30
"""Bytes that all clients with their recorders, and the checker, may have at one time."""


@dataclasses.dataclass
class Result:
    """The result of one round: what was checked, and observations that no promise explains."""

    seed: int
    store: str
    operations: int = 0
    unknown: int = 0
    undecided: dict[str, int] = dataclasses.field(default_factory=dict)
    """Operations of each history that the checker could not decide in time."""
    faults: list[str] = dataclasses.field(default_factory=list)
    by_kind: dict[str, int] = dataclasses.field(default_factory=dict)
    injected: dict[str, int] = dataclasses.field(default_factory=dict)
    skipped: dict[str, int] = dataclasses.field(default_factory=dict)
    clients_memory: int = 0
    checker_memory: int = 0
    pages: list[str] = dataclasses.field(default_factory=list)


class Round:
    """One round in one folder."""

    def __init__(self, words: argparse.Namespace, seed: int, folder: pathlib.Path, seconds: float) -> None:
        self.words, self.seed, self.folder, self.seconds = words, seed, folder, seconds
        folder.mkdir(parents=True)
        self.result = Result(seed, words.store)
        self.network = words.network
        self.servers = Servers(words.binary, folder, words.store, AGENTS, words.disk_library, self.network)
        self.effects = folder / "effects.jsonl"
        self.effects.touch()
        python_path = os.pathsep.join([str(HERE), str(ROOT / "python")])
        self.environment = {"PYTHONPATH": python_path, "PYTHONUNBUFFERED": "1", "MUSTER_BINARY": str(words.binary.resolve()),
                            "MUSTER_TOKEN": ADMIN_TOKEN,
                            "PYTHONPYCACHEPREFIX": str(words.keep.resolve() / "pycache")}
        self.config = folder / "config.json"
        agents = [f"agent-{n}" for n in range(AGENTS)]
        self.config.write_text(json.dumps({
            "seed": seed, "store": words.store, "seconds": seconds, "grpc": self.servers.grpc,
            "http": self.servers.http, "torch": self.servers.torch, "agents": agents, "nemesis": words.nemesis,
            "clients": words.clients,
            "effects": str(self.effects), "object_task": "ps:0"}, indent=1))
        self.workers = [self._worker(f"worker-{n}", worker_command(self.servers.grpc, 2 * n)) for n in range(2)]
        self.workers.append(self._worker("worker-2", program_worker_command(
            words.binary, self.servers.grpc, 9, folder)))
        calls = str(words.binary.with_name("robustness_calls"))
        servers = ",".join(self.servers.grpc)
        self.workers.append(self._worker("worker-cpp", [calls, "--server", servers, "--index", "7", "--marks", str(folder)]))
        self.holder = self._worker("ps-0", [*worker_command(self.servers.grpc, 0), "--job", "ps"])
        clients = [("calls", "calls-0"), ("calls", "calls-1"), ("objects", "objects-0"),
                   ("variables", "variables-0"), ("datasets", "datasets-0"), ("jobs", "jobs-0"),
                   ("programs", "programs-0"), ("torch", "torch-0"), ("torch", "torch-1"), ("grpc", "grpc-0"), ("tokens", "tokens-0"),
                   ("streams", "streams-0"), ("maps", "streams-of-maps"), ("leaders", "leaders-0"),
                   *(("agent", name) for name in agents)]
        self.clients = [self._client(kind, name) for kind, name in clients]
        self.clients.append(self._process("calls-cpp", "clients", [
            calls, "--server", servers, "--effects", str(self.effects), "--history", str(folder / "history-calls-cpp.jsonl"),
            "--name", "calls-cpp", "--seed", str(seed), "--rate", str(words.call_rate)]))
        self.keys = self._process("keys", "clients", [
            str(words.checker), "load", "--urls", ",".join(self.servers.http), "--name", "rest", "--clients",
            str(words.clients), "--seed", str(seed), "--output", str(folder / "history-keys.jsonl")])
        self.ended = threading.Event()

    def _process(self, name: str, machine: str, command: list[str]) -> Process:
        return Process(name, command, self.folder, self.network, machine, self.environment)

    def _worker(self, name: str, command: list[str]) -> Process:
        return self._process(name, "workers", command)

    def _client(self, kind: str, name: str) -> Process:
        return self._process(name, "clients", [
            sys.executable, "-m", "clients", kind, "--config", str(self.config), "--history",
            str(self.folder / f"history-{name}.jsonl"), "--name", name, "--seed", str(self.seed)])

    def _nemesis(self, kind: str, names: list[str], history: Recorder) -> Nemesis:
        return Nemesis(self.servers, [*self.workers, self.holder], self.clients, names, list(self.words.skip_reasons),
                       f"{self.seed} {kind}", history)

    def run(self) -> Result:
        """Runs the round. Returns its result without the checks of its histories."""
        history = Recorder(self.folder / "history-nemesis.jsonl")
        names = self.words.nemesis
        of_processes = self._nemesis("processes", [name for name in names if name in PROCESSES], history)
        of_servers = self._nemesis("servers", [name for name in names if name not in PROCESSES], history)
        try:
            self.servers.start()
            for process in (*self.workers, self.holder, *self.clients, self.keys):
                process.start()
            with concurrent.futures.ThreadPoolExecutor(1) as threads:
                end = time.monotonic() + self.seconds
                other = threads.submit(self._break, of_processes, end, self._note_ended_processes)
                try:
                    self._break(of_servers, end, self.servers.start_if_ended)
                finally:
                    self.ended.set()
                    other.result()
            self._finish()
        except Stuck as error:
            self.result.faults.append(str(error))
        finally:
            for process in (*self.clients, self.keys, *self.workers, self.holder):
                process.kill()
            self.network.heal()
            self.result.faults += self.servers.stop()
        self.result.skipped = dict(of_processes.skips + of_servers.skips)
        return self.result

    def _break(self, nemesis: Nemesis, end: float, look_after: Callable[[], None]) -> None:
        """Injects faults until `end`, or until the round has ended."""
        while time.monotonic() < end and not self.ended.wait(nemesis.random.uniform(0.1, 1.0)):
            nemesis.inject()
            look_after()

    def _note_ended_processes(self) -> None:
        for process in (*self.clients, self.keys, *self.workers, self.holder):
            if not process.is_running:
                text = f"{process.name} ended by itself; see {process.log}"
                if text not in self.result.faults:
                    self.result.faults.append(text)
                process.start()

    def _finish(self) -> None:
        """Ends the clients, then reads the final state of all jobs from a server that was started again."""
        self.result.clients_memory = sum(process.peak_memory() for process in (*self.clients, self.keys))
        self.keys.stop()
        for client in self.clients:
            if client.process is not None and client.is_running:
                client.process.terminate()
        limit = time.monotonic() + SETTLE_LIMIT
        begun = time.monotonic()
        for client in self.clients:
            if client.name.startswith("agent-"):
                client.stop(AGENT_END)  # an agent waits for the other agents, which can have ended
            elif client.stop(max(1.0, limit - time.monotonic())) not in (0, -15):
                self.result.faults.append(f"{client.name} did not end in order; see {client.log}")
            if (seconds := time.monotonic() - begun) > SLOW_END:
                print(f"  {client.name} ended {seconds:.0f} s after the last fault")
                begun = time.monotonic()
        server = self.servers.servers[self.servers.leader()]
        server.kill()
        server.start()
        url = self.servers.await_ready()
        jobs = [record["id"] for record in models.all_records(self.folder, "history-jobs") if record["kind"] == "job"]
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            final = dict(zip(jobs, threads.map(lambda job: self._final_job(url, job, limit), jobs)))
        (self.folder / "final-jobs.json").write_text(json.dumps(final))

    def _final_job(self, url: str, job: str, limit: float) -> Any:
        left = max(1.0, limit - time.monotonic())
        try:
            state = get(f"{url}/api/v1/jobs/{job}/join?timeout={left:.0f}s", left + 5)
            lines = [json.loads(line) for line in get_text(f"{url}/api/v1/jobs/{job}/results", 30).splitlines()]
        except urllib.error.HTTPError as error:
            return None if error.code == 404 else {"state": f"HTTP {error.code}", "values": []}
        return {"state": state["state"], "values": [line.get("value") for line in lines], "error": state.get("error")}


def check(result: Result, folder: pathlib.Path, checker: pathlib.Path) -> None:
    """Checks all histories of a round. Writes result.json, unknown.jsonl with all operations without an outcome, and HTML pages if
    something is unexplained."""
    unknown_operations: list[models.Record] = []

    def add(kind: str, operations: int, unknown: list[models.Record], faults: list[str]) -> None:
        result.operations += operations
        result.unknown += len(unknown)
        result.by_kind[kind] = operations
        result.faults += [f"{kind}: {fault}" for fault in faults[:20]]
        unknown_operations.extend(unknown)

    for kind, file in {"keys over REST": folder / "history-keys.jsonl", "keys of agents": keys_of(folder, "agent"),
                       "keys over gRPC": keys_of(folder, "grpc"), "keys of torch": keys_of(folder, "torch")}.items():
        unknown = folder / "unknown-keys.jsonl"
        checked = subprocess.run([str(checker), "check", "--pages", str(folder), "--unknown", str(unknown), str(file)],
                                 capture_output=True, text=True)
        if checked.returncode not in (0, 1):
            result.faults.append(f"the checker of {kind} failed: {checked.stderr}")
            continue
        keys = json.loads(checked.stdout)
        add(kind, keys["operations"], list(read(unknown)), [f"key {key} is not linearizable" for key in keys["illegal"]])
        result.undecided.update(keys["undecided"])
        result.checker_memory = max(result.checker_memory, keys["peak_bytes"])
        result.pages += keys["pages"]
    effects = list(read(folder / "effects.jsonl"))
    jobs = folder / "final-jobs.json"

    def records(prefix: str) -> list[models.Record]:
        return models.all_records(folder, "history-" + prefix)

    def marks(name: str) -> bytes:
        return (folder / name).read_bytes() if (folder / name).exists() else b""

    config = json.loads((folder / "config.json").read_text())
    for verdict in (models.calls(records("calls"), effects, marks), models.objects(records("objects")),
                    models.variables(records("variables")), models.datasets(records("datasets"), effects),
                    models.jobs(records("jobs"), json.loads(jobs.read_text()) if jobs.exists() else None),
                    models.barriers(records("agent"), config["agents"]), models.tokens(records("tokens")),
                    models.streams(records("streams")), models.leaders(records("leaders")),
                    models.ranks(effects), models.programs(records("programs"))):
        add(verdict.kind, verdict.operations, verdict.unknown, verdict.faults)
    if config["seconds"] >= 40:  # a history without an operation checks nothing
        result.faults += [f"{file.name} is empty" for file in sorted(folder.glob("history-*.jsonl")) if not file.stat().st_size]
    (folder / "unknown.jsonl").write_text("".join(json.dumps(record) + "\n" for record in unknown_operations))
    result.injected = dict(collections.Counter(
        r["name"] for r in read(folder / "history-nemesis.jsonl") if r.get("event") == "end"))
    result.checker_memory += resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for name, memory in (("clients", result.clients_memory), ("checker", result.checker_memory)):
        if memory > MEMORY_LIMIT:
            result.faults.append(f"the {name} used {memory >> 20} MiB of memory; the limit is {MEMORY_LIMIT >> 20} MiB")
    if result.faults:
        page = folder / "timeline.html"
        timeline.write(page, folder, result.faults)
        result.pages.insert(0, str(page))
    (folder / "result.json").write_text(json.dumps(dataclasses.asdict(result), indent=1))


class BackgroundCheck:
    """Checks a round in a process of its own, while the next round runs. Its low priority leaves the processors to the round."""

    def __init__(self, result: Result, folder: pathlib.Path, checker: pathlib.Path) -> None:
        self.result, self.folder = result, folder
        self.process = multiprocessing.get_context("spawn").Process(target=self.run, args=(result, folder, checker), daemon=True)
        self.process.start()

    @staticmethod
    def run(result: Result, folder: pathlib.Path, checker: pathlib.Path) -> None:
        os.nice(10)
        check(result, folder, checker)

    def wait(self) -> Result:
        """Waits for the end of the check, prints its result, and deletes the histories unless something is unexplained."""
        self.process.join()
        if self.process.exitcode == 0:
            self.result = Result(**json.loads((self.folder / "result.json").read_text()))
        else:
            self.result.faults.append(f"the check ended with status {self.process.exitcode}")
        show(self.result, self.folder)
        if not self.result.faults:
            delete_histories(self.folder)
        return self.result


def keys_of(folder: pathlib.Path, kind: str) -> pathlib.Path:
    """Writes the operations on keys of one kind of client into a file of their own, and returns it.

    These clients record each operation as unknown before the call, and with its outcome after the call."""
    out = folder / f"{kind}.keys"
    operations = {(r["client"], r["call"]): r for r in models.all_records(folder, f"history-{kind}") if "key" in r}
    out.write_text("".join(json.dumps(record) + "\n" for record in operations.values()))
    return out


def replay(folder: pathlib.Path, checker: pathlib.Path) -> Result:
    """Checks the histories that an earlier round has left in its folder."""
    config = json.loads((folder / "config.json").read_text())
    result = Result(config["seed"], config["store"])
    check(result, folder, checker)
    return result


def listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def show(result: Result, folder: pathlib.Path) -> None:
    print(f"{result.store}, seed {result.seed}: {sum(result.injected.values())} faults, {result.operations} operations "
          f"({listed(result.by_kind)}), {share(result.unknown, result.operations)}, {len(result.undecided)} undecided histories, "
          f"{len(result.faults)} violations")
    for fault in result.faults:
        print(f"  {fault}")
    if result.faults:
        print(f"  kept in {folder}: histories, logs, config.json and {', '.join(pathlib.Path(p).name for p in result.pages)}")
        print(f"  check it again with: scripts/robustness --replay {folder}", flush=True)


def summary(words: argparse.Namespace, results: list[Result]) -> dict[str, Any]:
    """Prints the totals of all rounds, and returns them."""
    def add_up(counts: list[dict[str, int]]) -> dict[str, int]:
        total: collections.Counter[str] = collections.Counter()
        for count in counts:
            total.update(count)
        return dict(total)

    injected, skipped = add_up([r.injected for r in results]), add_up([r.skipped for r in results])
    operations, undecided = sum(r.operations for r in results), add_up([r.undecided for r in results])
    undecided_share = 100.0 * sum(undecided.values()) / max(operations, 1)
    unused = [kind for kind, count in add_up([r.by_kind for r in results]).items() if not count]
    clients, checker = max(r.clients_memory for r in results), max(r.checker_memory for r in results)
    seeds = f"{results[0].seed}" if len(results) == 1 else f"{results[0].seed} to {results[-1].seed}"
    print(f"{words.store}, seed {seeds}: {operations} operations, {sum(injected.values())} faults ({listed(injected)}), "
          f"{share(sum(r.unknown for r in results), operations)}, {sum(undecided.values())} undecided ({undecided_share:.4f} %), "
          f"{sum(skipped.values())} faults skipped, peak memory {clients >> 20} MiB clients and {checker >> 20} MiB checker, "
          f"{sum(len(r.faults) for r in results)} violations")
    for key, count in undecided.items():
        print(f"  undecided: key {key}, {count} operations")
    for name, count in sorted(skipped.items()):
        print(f"  skipped: {name}, {count} times: {words.skip_reasons[name]}")
    for kind in unused:
        print(f"  {'violation' if len(results) >= UNUSED_ROUNDS else 'not checked'}: {kind} had no operation")
    return {"store": words.store, "seed": results[0].seed, "rounds": len(results), "operations": operations,
            "faults": sum(injected.values()), "faults_by_kind": injected, "undecided": undecided, "skipped": skipped,
            "not_checked": unused,
            "unknown": sum(r.unknown for r in results), "clients_memory": clients, "checker_memory": checker,
            "violations": [fault for r in results for fault in r.faults]}


def share(unknown: int, operations: int) -> str:
    return f"{unknown} unknown outcomes ({100 * unknown / max(1, operations):.3f} %)"


def delete_histories(folder: pathlib.Path) -> None:
    """Deletes everything of a round but its result and the list of unknown outcomes."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in ("result.json", "unknown.jsonl"):
            path.unlink()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/robustness", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2.0, help="how long to run (default: 2)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first round (default: 1)")
    parser.add_argument("--store", choices=["local", "etcd", "etcd3tls"], default="local",
                        help="where the servers keep their state (default: local)")
    parser.add_argument("--nemesis", help="faults to inject, comma-separated (default: all that the store allows)")
    parser.add_argument("--clients", type=int, default=64, help="clients of keys over REST (default: 64)")
    parser.add_argument("--call-rate", type=int, default=10_000, help="calls a second in batches (default: 10000)")
    parser.add_argument("--keep", type=pathlib.Path, default=ROOT / "build" / "robustness",
                        help="folder for the runs (default: build/robustness)")
    parser.add_argument("--replay", type=pathlib.Path, metavar="DIR", help="check the histories of an earlier round again")
    parser.add_argument("--summary", type=pathlib.Path, metavar="FILE", help="also write the totals to FILE as JSON")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/muster", help="program to test")
    parser.add_argument("--disk-library", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--checker", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    words = parser.parse_args()
    possible = [*names_for(words.store), *ON_REQUEST]
    words.nemesis = words.nemesis.split(",") if words.nemesis else names_for(words.store)
    if unknown := [name for name in words.nemesis if name not in possible]:
        parser.error(f"--nemesis: {', '.join(unknown)}: must be of {', '.join(possible)}")
    return words


def prepare_network(words: argparse.Namespace) -> None:
    """Makes namespaces if a fault needs them. Without the right to do so, these faults are skipped."""
    words.network, words.skip_reasons = Loopback(), {}
    partitions = [name for name in words.nemesis if name.startswith("partition-")]
    if not partitions:
        return
    machines = ["clients", "workers", "server-0"]
    if words.store != "local":
        machines += ["server-1", "etcd-0", "etcd-1", "etcd-2"]
    try:
        words.network = make_namespaces(machines)
    except OSError as error:
        words.skip_reasons = {name: f"no network namespaces here: {error}" for name in partitions}
        print(f"skipping {', '.join(partitions)}: no network namespaces here: {error}", flush=True)


def copy_programs(words: argparse.Namespace, folder: pathlib.Path) -> None:
    """Copies the tested programs, because a build during the run would replace them, and the library of Python beside them."""
    folder.mkdir(parents=True)
    for program in (words.binary, words.binary.with_name("robustness_calls")):
        shutil.copy2(program, folder)
    shutil.copytree(words.binary.parent.parent / "lib" / "muster", folder.parent / "lib" / "muster")
    words.binary = folder / words.binary.name


def main() -> int:
    words = arguments()
    if words.replay:
        if not (words.replay / "config.json").exists():
            print(f"robustness: {words.replay} contains no round; name the folder that a failed round has printed", file=sys.stderr)
            return 2
        result = replay(words.replay, words.checker)
        show(result, words.replay)
        print(f"{0 if result.faults else 1} passed, {1 if result.faults else 0} failed")
        return 1 if result.faults else 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends all processes of the round
    prepare_network(words)
    end = time.monotonic() + words.minutes * 60
    run = words.keep.resolve() / time.strftime("%Y%m%d-%H%M%S")
    copy_programs(words, run / "bin")
    if "step-clock" in words.nemesis:
        os.environ["MUSTER_CLOCK_STEPS"] = "1"
    results: list[Result] = []
    pending: BackgroundCheck | None = None
    seed = words.seed
    while (left := end - time.monotonic()) > 5 or seed == words.seed:
        folder = run / f"{words.store}-{seed}"
        result = Round(words, seed, folder, max(5.0, min(ROUND_SECONDS, left))).run()
        results += [pending.wait()] if pending else []
        pending = BackgroundCheck(result, folder, words.checker)
        seed += 1
    results += [pending.wait()] if pending else []
    if not any(r.faults for r in results):
        shutil.rmtree(run / "bin")
    totals = summary(words, results)
    if words.summary:
        words.summary.write_text(json.dumps(totals, indent=1))
    failed = sum(1 for r in results if r.faults)
    print(f"{len(results) - failed} passed, {failed} failed")
    if failed:
        seed = next(r.seed for r in results if r.faults)
        faults = "" if words.nemesis == names_for(words.store) else f" --nemesis {','.join(words.nemesis)}"
        print(f"repeat with: scripts/robustness --store {words.store} --seed {seed} --minutes {min(words.minutes, 1):g}{faults}",
              flush=True)
    return 1 if failed or (totals["not_checked"] and len(results) >= UNUSED_ROUNDS) else 0


if __name__ == "__main__":
    sys.exit(main())
