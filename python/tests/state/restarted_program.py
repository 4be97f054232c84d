"""The loop of docs/parameter-servers.md: a program that continues after each loss of its parameter server or of the server.

    python restarted_program.py variable|dataset SERVER FOLDER

It works until the folder contains a file "end". The file "rounds" contains the number of rounds, and "losses" has one line
for each UnavailableError. Any other error ends the program.
"""
from __future__ import annotations

import itertools
import pathlib
import sys
import time
from typing import Any, Callable

import numpy as np

import muster


def add_one(w: Any) -> None:
    w.assign_add(1).fetch()
    time.sleep(0.01)


def draw_some(splits: Any) -> int:
    drawn = 0
    for _ in itertools.islice(splits, 5):
        time.sleep(0.01)
        drawn += 1
    return drawn


def with_variable(c: muster.ClusterCoordinator, folder: pathlib.Path, work: Callable[..., None]) -> None:
    w = c.variable(np.zeros(1), name="w", task="ps:0")
    c.restore(folder / "checkpoints")
    with c.checkpoints(folder / "checkpoints", every=0.3, keep=2):
        work(add_one, w)


def with_dataset(c: muster.ClusterCoordinator, folder: pathlib.Path, work: Callable[..., None]) -> None:
    work(draw_some, c.create_distributed_dataset(range(1000), name="d", epochs=1000))


def main(what: str, server: str, path: str) -> None:
    folder = pathlib.Path(path)
    rounds = 0
    while not (folder / "end").exists():
        try:
            with muster.ClusterCoordinator(server) as c:

                def work(function: Callable[..., Any], argument: Any) -> None:
                    nonlocal rounds
                    while not (folder / "end").exists():
                        for _ in range(4):
                            c.schedule(function, (argument,))
                        c.join()
                        rounds += 1
                        (folder / "rounds").write_text(str(rounds))

                (with_variable if what == "variable" else with_dataset)(c, folder, work)
        except muster.UnavailableError as lost:
            with (folder / "losses").open("a") as losses:
                losses.write(str(lost).partition("\n")[0] + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
