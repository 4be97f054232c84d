"""A program of torch.distributed of which rank 2 hangs. Each attempt uses another kind of hang; the attempt after the last
kind does not hang. Run as a script; argument: a directory."""
import os
import pathlib
import re
import signal
import sys
import time

import torch
import torch.distributed

VICTIM, AT = 2, 5
KINDS = ("sleep", "lock_held_in_c", "fifo", "stopped")


def next_batch(rank, step, folder):
    attempt = int(os.environ["MUSTER_ATTEMPT"])
    if (rank, step) == (VICTIM, AT) and attempt <= len(KINDS):
        (folder / f"waits-{attempt}").touch()
        hang(KINDS[attempt - 1], folder)
    return torch.ones(4)


def hang(kind, folder):
    if kind == "sleep":
        time.sleep(1000)
    elif kind == "lock_held_in_c":
        re.match(r"(a+)+$", "a" * 60 + "b")
    elif kind == "fifo":
        (folder / "data").read_bytes()
    else:
        os.kill(os.getpid(), signal.SIGSTOP)


def main():
    torch.distributed.init_process_group("gloo")
    for step in range(20):
        batch = next_batch(torch.distributed.get_rank(), step, pathlib.Path(sys.argv[1]))
        torch.distributed.all_reduce(batch)
        print("step", step, batch.tolist(), flush=True)


if __name__ == "__main__":
    main()
