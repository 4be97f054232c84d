"""A training program for the fault catalogue. Its ranks add up their gradients in each step, save a checkpoint after every
fifth step, and continue from the newest undamaged checkpoint. Run as a script:

    train.py FRAMEWORK FOLDER FAULT

Args:
    FRAMEWORK: plain (ranks exchange gradients through the coordination service), jax or torch.
    FOLDER: a folder that all ranks share.
    FAULT: the kind of fault, or none. For faults from outside, the rank VICTIM only writes the file `struck`.
"""
from __future__ import annotations

import hashlib
import os
import pathlib
import sys
import time
from typing import Protocol

import numpy

import inflict
import muster

STEPS = int(os.environ.get("FAULTS_STEPS", "30"))
SAVE_EVERY = 5
STEP_SECONDS = 0.05
SIZE = 64
RATE = 0.125
LIMIT = 600.0
"""Seconds that a rank waits for the others. Longer than a run, so that only hang detection ends the wait."""


class Ranks(Protocol):
    """The ranks of a program, which a framework connects."""

    def connect(self) -> tuple[int, int]:
        """Connects to the other ranks. Returns this rank and the number of ranks."""

    def sum(self, values: numpy.ndarray) -> numpy.ndarray:
        """Returns the sum over all ranks."""

    def meet(self, name: str) -> None:
        """Waits until all ranks have called `meet`. The name must be the same in all ranks."""

    def deadlock(self) -> None:
        """Enters a collective operation that the other ranks do not enter."""

    def leave(self) -> None:
        """Disconnects at the end of the program."""


class Plain:
    """Ranks that exchange values through keys and barriers of the coordination service."""

    def connect(self) -> tuple[int, int]:
        self._rank, self._size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self._agent = muster.Agent()
        self._agent.connect(LIMIT)
        self._round = 0
        return self._rank, self._size

    def sum(self, values: numpy.ndarray) -> numpy.ndarray:
        self._round += 1
        self._agent.set(f"values/{self._round}/{self._rank}", values.tobytes())
        self.meet(f"values-{self._round}")
        total = numpy.zeros_like(values)
        for rank in range(self._size):
            total += numpy.frombuffer(self._agent.get(f"values/{self._round}/{rank}", LIMIT), values.dtype)
        if self._round > 2:
            self._agent.delete(f"values/{self._round - 2}/{self._rank}")
        return total

    def meet(self, name: str) -> None:
        self._agent.barrier(name, LIMIT)

    def deadlock(self) -> None:
        self._agent.barrier("only-this-rank", LIMIT)

    def leave(self) -> None:
        self._agent.shutdown(LIMIT)


class Torch:
    """Ranks of torch.distributed with gloo."""

    def connect(self) -> tuple[int, int]:
        import datetime

        import torch.distributed
        self._torch, self._dist = torch, torch.distributed
        self._dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=LIMIT))
        rank, size = self._dist.get_rank(), self._dist.get_world_size()
        self._pair = self._dist.new_group([inflict.VICTIM, (inflict.VICTIM + 1) % size])
        return rank, size

    def sum(self, values: numpy.ndarray) -> numpy.ndarray:
        tensor = self._torch.tensor(values)
        self._dist.all_reduce(tensor)
        return tensor.numpy()

    def meet(self, name: str) -> None:
        self._dist.barrier()

    def deadlock(self) -> None:
        self._dist.barrier(self._pair)

    def leave(self) -> None:
        self._dist.barrier()
        self._dist.destroy_process_group()


class Jax:
    """Processes of jax.distributed with gloo."""

    def connect(self) -> tuple[int, int]:
        import jax
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.config.update("jax_enable_x64", True)
        jax.distributed.initialize()
        from jax.experimental import multihost_utils
        self._jax, self._hosts = jax, multihost_utils
        self._sum = jax.pmap(lambda x: jax.lax.psum(x, "ranks"), axis_name="ranks")
        return jax.process_index(), jax.process_count()

    def sum(self, values: numpy.ndarray) -> numpy.ndarray:
        return numpy.asarray(self._sum(values[None]).addressable_shards[0].data)[0]

    def meet(self, name: str) -> None:
        self._hosts.sync_global_devices(name)

    def deadlock(self) -> None:
        self._hosts.sync_global_devices("only-this-rank")

    def leave(self) -> None:
        self._jax.distributed.shutdown()


def newest_checkpoint(folder: pathlib.Path) -> tuple[int, numpy.ndarray]:
    """Returns step and weights of the newest undamaged checkpoint. Without a checkpoint, returns 0 and the initial weights."""
    for path in sorted(folder.glob("checkpoint-*"), reverse=True):
        digest, content = path.read_bytes()[:32], path.read_bytes()[32:]
        if hashlib.sha256(content).digest() == digest:
            return int(path.name.split("-")[1]), numpy.frombuffer(content)
        print(f"{path.name} is damaged", file=sys.stderr, flush=True)
    return 0, numpy.zeros(SIZE)


def save(folder: pathlib.Path, step: int, weights: numpy.ndarray) -> None:
    content = weights.tobytes()
    part = folder / "part"
    with part.open("wb") as file:
        file.write(hashlib.sha256(content).digest() + content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / f"checkpoint-{step:06}")


def gradient(weights: numpy.ndarray, rank: int, step: int) -> numpy.ndarray:
    """Returns the gradient of a least-squares problem for this rank's part of the data."""
    source = numpy.random.default_rng([rank, step])
    inputs = source.normal(size=(16, SIZE))
    return inputs.T @ (inputs @ weights - inputs.sum(1)) / len(inputs)


def main() -> None:
    framework, folder, fault = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    attempt = int(os.environ["MUSTER_ATTEMPT"])
    # A slow rank is detected by its arrival times only if step() is called before the sum. For other faults, step() is called
    # after the sum, so that step numbers do not identify the hanging rank.
    early = fault.startswith("slow-")
    inflict.at_start(fault, folder, attempt)
    ranks: Ranks = {"plain": Plain, "jax": Jax, "torch": Torch}[framework]()
    rank, size = ranks.connect()
    begun, weights = newest_checkpoint(folder / "checkpoints")
    for step in range(begun + 1, STEPS + 1):
        if rank == inflict.VICTIM:
            inflict.before_step(fault, folder, step, ranks)
        inflict.work(fault, STEP_SECONDS)
        own = gradient(weights, rank, step)
        if early:
            stops = muster.step(step)
        weights = weights - RATE * ranks.sum(own) / size
        if rank == 0:
            with (folder / "steps").open("a") as log:
                log.write(f"{attempt} {step} {time.time()}\n")
        print("step", step, flush=True)
        if not early:
            stops = muster.step(step)
        if step % SAVE_EVERY == 0 or stops:
            if rank == 0:
                save(folder / "checkpoints", step, weights)
            ranks.meet(f"saved-{step}")
        if stops:
            break
    else:
        (folder / f"final-{rank}").write_bytes(weights.tobytes())
    ranks.leave()


if __name__ == "__main__":
    main()
