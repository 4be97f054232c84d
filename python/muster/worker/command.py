"""The command ``python -m muster worker``."""
from __future__ import annotations

import argparse
import logging
import os
import re
import sys
from typing import NoReturn, Sequence

from muster._token import first_line
from muster.worker import init
from muster.worker.log_lines import LineFormatter


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 30s or 250ms")
    return float(found[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[found[2]]


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)(B|KiB|MiB|GiB|)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes, such as 4GiB or 512MiB")
    return int(found[1]) << {"KiB": 10, "MiB": 20, "GiB": 30}.get(found[2], 0)


def _pairs(words: Sequence[str]) -> dict[str, str]:
    for word in words:
        if "=" not in word:
            raise ValueError(f"{word!r}: expected KEY=VALUE")
    return dict(word.split("=", 1) for word in words)


class _Parser(argparse.ArgumentParser):
    """Prints an error as a single line, like the other commands."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see '{self.prog} --help')\n")


def parser() -> argparse.ArgumentParser:
    p = _Parser(
        prog="python -m muster worker",
        description="Runs the functions of the modules, and functions that clients with this Python version schedule. "
                    "Exit status: 0 the worker was stopped cleanly, 1 it failed, 2 wrong usage.")
    p.add_argument("modules", nargs="*", metavar="MODULE",
                   help="Python module to import for its @muster.function functions")
    p.add_argument("--server", action="append", metavar="HOST:PORT",
                   help="gRPC address of the server; comma-separated list for several (default: MUSTER_SERVER or 127.0.0.1:8476)")
    p.add_argument("--ca", metavar="FILE", help="use TLS, and verify the server with the CA certificates in this PEM "
                                                "file (default: MUSTER_CA)")
    p.add_argument("--cert", metavar="FILE", help="client certificate, PEM (default: MUSTER_CERT)")
    p.add_argument("--key", metavar="FILE", help="private key of --cert (default: MUSTER_KEY)")
    how = p.add_mutually_exclusive_group()
    how.add_argument("--processes", type=int, metavar="N",
                     help="number of tasks, each with its own process; a process that replaces another one keeps its "
                          "index (default: one per processor)")
    how.add_argument("--threads", type=int, metavar="N", help="run a single task with N slots")
    p.add_argument("--slots", nargs="?", const="", help=argparse.SUPPRESS)  # of `muster worker`; refused with a hint
    p.add_argument("--role", "--job", dest="job", default="worker", metavar="ROLE",
                   help="role of the tasks in the cluster")
    p.add_argument("--index", type=int, help="index of the first task (default: the server picks free ones); refused "
                                             "while another host is connected as that task")
    p.add_argument("--cluster", default="", help="cluster to join (default: the main cluster)")
    p.add_argument("--token", default="", help="token for the server; other users of this machine can see it in the "
                                               "process list; MUSTER_TOKEN and --token-file are safer")
    p.add_argument("--token-file", metavar="FILE", help="file whose first line is the token")
    p.add_argument("--label", action="append", default=[], metavar="KEY=VALUE",
                   help="label that closures can require; may be repeated")
    p.add_argument("--resource", action="append", default=[], metavar="NAME=N",
                   help="amount of a resource that each task offers to closures; may be repeated")
    p.add_argument("--gpus", metavar="N[,N…]",
                   help="GPUs to divide among the processes (default: CUDA_VISIBLE_DEVICES, else all); an empty "
                        "string means none")
    p.add_argument("--allow-programs", action="store_true",
                   help="not supported here: ranks of programs need a separate worker, 'muster worker "
                        "--allow-programs'")
    p.add_argument("--no-pickled", action="store_true", help="run only named functions, not pickled functions")
    p.add_argument("--nested-max", type=int, default=64, metavar="N",
                   help="maximum number of closures of each task that wait for the values of other closures and leave "
                        "their slots to others (64)")
    p.add_argument("--drain-timeout", type=_seconds, default=30.0, metavar="TIME",
                   help="time that running closures have to finish after the worker is asked to leave (30s)")
    p.add_argument("--stop-grace", type=_seconds, default=10.0, metavar="TIME",
                   help="time after which the process of a cancelled closure is killed (10s)")
    p.add_argument("--transfer-listen", default="", metavar="HOST[:PORT]",
                   help="address at which workers on other hosts fetch large values from this worker (default: the "
                        "interface "
                        "towards the server, and a free port); off: they fetch these values from the server")
    p.add_argument("--transfer-advertise", default="", metavar="HOST[:PORT]",
                   help="address that other workers use instead of --transfer-listen")
    p.add_argument("--shm-bytes-max", type=_bytes, metavar="BYTES",
                   help="size of the shared memory that stores large values for processes on this host; 0: none "
                        "(4GiB, or half of the memory)")
    return p


def main(words: Sequence[str] | None = None) -> int:
    p = parser()
    given = p.parse_args(words)
    if given.slots is not None:
        p.error("--slots: only 'muster worker' has this flag; use '--processes N' for N processes that run one call at a "
                "time, or '--threads N' for one process that runs N calls at a time")
    if given.allow_programs:
        p.error("--allow-programs: a worker for Python functions cannot run ranks of programs; also start "
                "'muster worker --allow-programs', which this package contains")
    init.run_as_init()
    lines = logging.StreamHandler(sys.__stderr__)
    lines.setFormatter(LineFormatter())
    logging.basicConfig(handlers=[lines], level=logging.INFO)
    sys.path.insert(0, os.getcwd())
    from muster.worker.worker import Worker

    processes = given.processes
    if processes is None and given.threads is None:
        processes = os.cpu_count() or 1
    gpus = None if given.gpus is None else [g for g in given.gpus.split(",") if g]
    try:
        token = given.token
        if given.token_file and not token:
            token = first_line(given.token_file, "--token-file")
        worker = Worker(
            given.server or [os.environ.get("MUSTER_SERVER") or "127.0.0.1:8476"],
            processes=processes, threads=given.threads, modules=given.modules,
            pickled=not given.no_pickled, gpus=gpus,
            job=given.job, index=given.index, cluster=given.cluster, token=token,
            ca=given.ca, cert=given.cert, key=given.key, labels=_pairs(given.label),
            resources={k: int(v) for k, v in _pairs(given.resource).items()},
            nested_max=given.nested_max, drain_timeout=given.drain_timeout,
            stop_grace=given.stop_grace, shm_bytes_max=given.shm_bytes_max,
            transfer_listen=given.transfer_listen, transfer_advertise=given.transfer_advertise)
    except (ValueError, OSError) as error:
        p.error(str(error))
    worker.stop_on_signals()
    return worker.run()
