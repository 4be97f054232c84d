"""The kinds of faults of the catalogue: their effects, and the reports that Muster must give."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any, Callable

from inflict import VICTIM

if TYPE_CHECKING:
    from run import Run

CGROUPS = pathlib.Path("/sys/fs/cgroup")
MEMORY = 1 << 30
"""Bytes of memory of each host in out-of-memory."""
CUT_SECONDS = 12.0
"""Longer than the lease of ranks."""

Attempts = list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of fault.

    `names` gets the records of all attempts. It returns True if the report is as required, False if it is not, and None if
    the server named no rank and this is accepted.
    """

    name: str
    what: str
    """The fault, as a sentence."""
    expected: str
    """The required report, as a phrase."""
    names: Callable[[Run, Attempts], bool | None]
    act: Callable[[Run], None] | None = None
    """Runs on a thread of its own once the file `struck` exists. Injects a fault from outside, or removes an earlier one."""
    prepare: Callable[[Run], None] | None = None
    """Is called before the program starts."""
    recovers: bool = True
    """The program ends with the final parameters of an undisturbed run. Otherwise it fails."""
    attempts: tuple[int, int] = (2, 2)
    """The least and the greatest number of attempts."""
    tasks: int = 4
    steps: int = 30
    store: str = "local"
    serve: tuple[str, ...] = ()
    """Further arguments of `muster serve`."""
    lease: int = 5
    """Lease of the ranks in seconds. A fail-over takes several seconds."""


def first(attempts: Attempts) -> dict[str, Any]:
    """Returns the cause of the first attempt; empty if it has none."""
    cause: dict[str, Any] = (attempts[0].get("cause") or {}) if attempts else {}
    return cause


def rank_with(text: str, rank: int = VICTIM) -> Callable[[Run, Attempts], bool]:
    """Returns a check that the cause of the first attempt names this rank and contains `text`."""
    def names(run: Run, attempts: Attempts) -> bool:
        cause = first(attempts)
        said = "\n".join([str(cause.get("text", "")), *cause.get("stderr", [])])
        return cause.get("rank") == rank and text in said
    return names


def hang_of(evidence: str, line: str = "", undecided: bool = False) -> Callable[[Run, Attempts], bool | None]:
    """Returns a check that the hang of the rank VICTIM was reported.

    Args:
        evidence: accepted kinds of evidence, separated by spaces.
        line: text in the line of the hang.
        undecided: accepts a hang without a named rank.
    """
    def names(run: Run, attempts: Attempts) -> bool | None:
        hang = first(attempts).get("hang") or {}
        if hang and hang.get("rank") is None:
            return None if undecided else False
        return hang.get("rank") == VICTIM and hang.get("evidence") in evidence.split() and line in str(hang.get("line", ""))
    return names


def hang_at(line: str) -> Callable[[Run, Attempts], bool | None]:
    """Returns a check that the rank VICTIM was reported to hang in the function `line`."""
    return hang_of("STACK BARRIER COLLECTIVE", line)


def early_exit(run: Run, attempts: Attempts) -> bool:
    """Returns whether the cause names the rank VICTIM, or names its earlier exit."""
    cause = first(attempts)
    return cause.get("rank") == VICTIM or f"rank {VICTIM} on " in cause.get("text", "").partition("; ")[2]


def worker_named(*ends: str) -> Callable[[Run, Attempts], bool]:
    """Returns a check that the cause of the first attempt names the worker on the victim's host."""
    def names(run: Run, attempts: Attempts) -> bool:
        cause = first(attempts)
        return attempts[0].get("end") in ends and run.victim_worker in (str(cause.get("worker")), *str(cause.get("text")).split())
    return names


def nothing_to_name(run: Run, attempts: Attempts) -> bool:
    """Returns whether there was one attempt without a cause."""
    return len(attempts) == 1 and not first(attempts)


def slow_rank(run: Run, attempts: Attempts) -> bool:
    """Returns whether the rank VICTIM was listed as slow, and no rank of another host was."""
    return VICTIM in run.slow and run.slow <= run.ranks_of_victims_host


def slow_host(run: Run, attempts: Attempts) -> bool | None:
    """Returns whether only ranks of the victim's host were listed as slow, or None if no rank was listed."""
    return run.slow <= run.ranks_of_victims_host if run.slow else None


def kill_host(run: Run) -> None:
    listed = subprocess.run(["ip", "netns", "pids", run.victim_host], capture_output=True, text=True, check=True).stdout
    for pid in listed.split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass


def kill_server(run: Run) -> None:
    """Kills the server. Its supervisor starts it again a second later."""
    supervisor = run.servers.servers[0].pid
    os.kill(supervisor, signal.SIGSTOP)
    server = pathlib.Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()[0]
    os.kill(int(server), signal.SIGKILL)
    time.sleep(1.0)
    os.kill(supervisor, signal.SIGCONT)


def fail_over(run: Run) -> None:
    run.servers.servers[run.servers.leader()].kill()


def leave(run: Run) -> None:
    process = run.worker_on(run.victim_host).process
    if process is not None:
        process.terminate()


def others(run: Run) -> list[str]:
    return [machine for machine in run.machines if machine != run.victim_host]


def cut(run: Run) -> None:
    run.network.cut([run.victim_host], others(run))
    run.network.cut(others(run), [run.victim_host])
    run.wait(CUT_SECONDS)
    run.network.heal()


def cut_one_way(run: Run) -> None:
    run.network.cut([run.victim_host], others(run))
    run.wait(CUT_SECONDS)
    run.network.heal()


def slow_link(run: Run) -> None:
    interface = f"far{run.machines.index(run.victim_host)}"
    command = [*run.network.words(run.victim_host), "tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", "200kbit",
               "burst", "2kb", "latency", "2s"]
    subprocess.run(command, check=True)
    run.at_end(lambda: subprocess.run([*command[:command.index("add")], "del", "dev", interface, "root"], check=False))


def jump_clock(run: Run) -> None:
    for seconds in (3600, -86400, 0):
        run.servers.disk.set_clock(seconds)
        run.wait(0.7)


def make_cgroup(run: Run, controller: str, limits: dict[str, str], host: str) -> pathlib.Path:
    """Creates a cgroup with limits. The cgroup is deleted at the end of the run. Raises OSError without the right to do so."""
    root = CGROUPS / controller if (CGROUPS / controller).is_dir() else CGROUPS
    group = root / f"muster-faults-{os.getpid()}-{controller}-{host}"
    group.mkdir(exist_ok=True)
    run.at_end(lambda: _remove(group))
    for name, value in limits.items():
        if (group / name).exists():
            (group / name).write_text(value)
    return group


def _remove(group: pathlib.Path) -> None:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            return group.rmdir()
        except OSError:  # its processes are ending
            time.sleep(0.05)


def limit_memory(run: Run) -> None:
    limits = {"memory.limit_in_bytes": str(MEMORY), "memory.max": str(MEMORY), "memory.swap.max": "0"}
    for worker in run.workers:
        group = make_cgroup(run, "memory", limits, worker.machine)
        (group / "cgroup.procs").write_text(str(worker.pid))


def limit_cpu(run: Run) -> None:
    group = make_cgroup(run, "cpu", {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "1200", "cpu.max": "1200 20000"}, run.victim_host)
    (group / "cgroup.procs").write_text(str(run.pid_of_victim()))


def small_disk(run: Run) -> None:
    place = run.folder / "checkpoints"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(place)], check=True)
    run.at_end(lambda: subprocess.run(["umount", "-l", str(place)], check=False))


def free_disk_later(run: Run) -> None:
    run.wait_until(run.first_attempt_ended)
    (run.folder / "checkpoints" / "other-data").unlink()


def occupy_port(run: Run) -> None:
    (run.folder / "port").write_text("4711")
    for n in range(run.hosts):
        run.occupy(f"host-{n}", 4711)


def free_port_later(run: Run) -> None:
    run.wait_until(run.first_attempt_ended)
    run.stop_occupying()


KINDS = [
    Kind("exit-1", "A rank exits with status 1.", "the rank and its last line", rank_with("the batch is empty")),
    Kind("exception", "A rank raises an exception.", "the rank and the exception", rank_with("the loss is not finite")),
    Kind("sigkill", "A rank is killed by SIGKILL.", "the rank and signal 9 (SIGKILL)", rank_with("signal 9,")),
    Kind("sigterm", "A rank is killed by SIGTERM.", "the rank and signal 15 (SIGTERM)", rank_with("signal 15")),
    Kind("abort", "A rank aborts.", "the rank and signal 6 (SIGABRT)", rank_with("signal 6")),
    Kind("segfault", "A rank accesses invalid memory.", "the rank and signal 11 (SIGSEGV)", rank_with("signal 11")),
    Kind("out-of-memory", "The kernel kills a rank because the cgroup of its host has no memory left.", "the rank and exhausted memory",
         rank_with("memory was exhausted"), prepare=limit_memory),
    Kind("sigstop", "A rank is stopped by SIGSTOP.", "that the rank is stopped", hang_of("STOPPED")),
    Kind("loop-in-python", "A rank loops forever in Python code.", "the rank and the line", hang_at("loop_in_python")),
    Kind("loop-in-c", "A rank loops forever in C code that holds the GIL.", "the rank and the Python line", hang_at("loop_in_c")),
    Kind("lock-deadlock", "A rank waits for a lock that it holds.", "the rank and the line", hang_at("lock_twice")),
    Kind("no-input", "A rank waits for input that never arrives.", "the rank and the line", hang_at("read_without_writer")),
    Kind("collective-deadlock", "A rank enters a collective operation that the others do not enter.",
         "the rank, or a hang without a named rank",
         hang_of("STACK BARRIER COLLECTIVE", undecided=True)),
    Kind("leaves-barrier", "A rank exits with status 0 before a barrier at which the others wait.",
         "the rank, as the cause or as an earlier exit",
         early_exit),
    Kind("slow-cpu", "A CPU quota slows a rank down.", "the slow rank; other ranks of its host are also accepted",
         slow_rank, act=limit_cpu, attempts=(1, 1), steps=150),
    Kind("slow-link", "The network link of a host is slow.", "only ranks of this host, or no slow rank", slow_host, act=slow_link,
         attempts=(1, 1), steps=60),
    Kind("cut-link", "For 12 s, all packets from and to a host are dropped.", "the worker on the host", worker_named("LOST"), act=cut),
    Kind("half-open-link", "For 12 s, all packets from a host are dropped; it still receives packets.", "the worker on the host",
         worker_named("LOST"), act=cut_one_way),
    Kind("lost-host", "All processes of a host are killed.", "the worker on the host", worker_named("LOST"), act=kill_host),
    Kind("lost-server", "The server is killed, and its supervisor restarts it.", "none: the program continues",
         nothing_to_name, act=kill_server, attempts=(1, 1), steps=60, serve=("--supervise",)),
    Kind("fail-over", "The leader is killed and a standby takes over.", "none: the program continues", nothing_to_name,
         act=fail_over, attempts=(1, 1), steps=100, store="etcd", lease=30),
    Kind("preemption", "A worker receives SIGTERM because its host will be preempted.", "that the worker is leaving",
         worker_named("PREEMPTED"),
         act=leave),
    Kind("disk-full", "The disk of the checkpoints is full.", "rank 0 and the error of the disk",
         rank_with("No space left on device", 0), act=free_disk_later, prepare=small_disk, attempts=(2, 3)),
    Kind("damaged-checkpoint", "A checkpoint is damaged, and a rank is killed.", "the rank and signal 9 (SIGKILL)", rank_with("signal 9,")),
    Kind("clock-jump", "The server's clock is set an hour ahead, then a day behind, then correctly.", "none: the program continues",
         nothing_to_name, act=jump_clock, attempts=(1, 1), steps=60),
    Kind("port-in-use", "A port that a rank needs is in use.", "the rank and the error", rank_with("Address already in use"),
         act=free_port_later, prepare=occupy_port, attempts=(2, 4)),
    Kind("dns-failure", "A host name cannot be resolved.", "the rank and the error", rank_with("gaierror")),
    Kind("broken-environment", "A rank imports a package that is not installed on any host.", "the rank and the missing package",
         rank_with("package_that_is_not_installed"), recovers=False, attempts=(4, 4)),
    Kind("wrong-rank-count", "The program is started with 3 ranks instead of 4.", "the message of the program",
         lambda run, attempts: any("divided into 4 parts" in line for line in [*first(attempts).get("stderr", []), ""]),
         recovers=False, attempts=(4, 4), tasks=3),
]
NONE = Kind("none", "No fault.", "nothing", nothing_to_name, attempts=(1, 1))
