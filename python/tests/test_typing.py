"""A user's program under ``mypy --strict``, and the options that type checkers know."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

import muster
from muster.coordinator.options import ClosureWords, CoordinatorWords
from muster.worker.options import WorkerWords

PACKAGE = pathlib.Path(muster.__file__).parent.parent

GOOD = '''
import asyncio
from typing import Any

import muster
import muster.distribute


def square(x: int) -> int:
    return x * x


def main() -> int:
    with muster.LocalCluster(workers=2, labels={"zone": "a"}) as local:
        c: muster.ClusterCoordinator = local.coordinator(name="typed", continue_on_error=True, upload=[muster])
        value = c.schedule(square, args=(2,))
        number: int = value.fetch(timeout=5)
        other: muster.RemoteValue[int] = c.options(retries=2, resources={"gpu": 1}).schedule(square, (value,))
        named: Any = c.schedule("text.count", args=("path",)).fetch()
        results: list[int] = list(c.map(square, range(3)))
        w: muster.RemoteVariable = c.variable([1.0], name="w", task="ps:0")
        e = c.variable(shape=(9, 2), name="e", partitioner=muster.FixedShardsPartitioner(2), tasks=["ps:0", "ps:1"])
        update: muster.RemoteValue[None] = e.adam_rows([0], w.read(), 0.1)
        with c.checkpoints("path", every=5) as made:
            saved: int = (c.restore("path") or c.save("path", keep=2)) + (made.last or 0)
        print(w.shape, e.dtype, update, saved)
        for done in muster.as_completed([value, other]):
            number += done.fetch()
    with muster.Executor("127.0.0.1:8476", name="typed", upload=[muster]) as executor:
        number += executor.submit(square, 3).result()
        total: int = sum(executor.map(square, range(3)))
    with muster.Agent("127.0.0.1:8476", task="worker:0", heartbeat_timeout=5) as agent:
        agent.set("address/0", "10.0.0.1:99")
        use: int = agent.barrier("ready", timeout=60, tasks=["worker:0", ("ps", 1), 3])
        found: dict[str, bytes] = agent.list("address")
        states: list[str] = [s.state for s in agent.get_task_states()]
        print(use, found, states, agent.error and agent.error.task)
    def train(strategy: muster.distribute.Strategy) -> bool:
        here = muster.get_current_worker_context()
        return here is not None and here.is_chief and here.should_checkpoint

    muster.run_distribute_coordinator(train, mode="independent_worker", agent=agent)
    p: muster.Program = muster.launch(["train"], tasks={"worker": 8}, resources={"gpu": 1}, grace=5)
    first: str = next(p.logs(0, follow=True)) + p.logs(0)[0] + p.wait(timeout=5).state
    try:
        muster.Worker(threads=4, job="worker").run()
    except muster.MusterError as error:
        print(error, named, results, first)
    return number + total


async def later(c: muster.ClusterCoordinator) -> int:
    value = await c.async_schedule(square, args=(2,))
    return await value


@muster.function("text.count")
def count(path: str) -> int:
    muster.context().log(path)
    return 1


if __name__ == "__main__":
    main()
'''


def checked(tmp_path: pathlib.Path, text: str) -> list[str]:
    """Returns the error lines of mypy."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(text)
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
                          "--cache-dir", str(tmp_path / "cache"), str(program)],
                         stdout=subprocess.PIPE, text=True, cwd=tmp_path,
                         env={**os.environ, "MYPYPATH": str(PACKAGE)})
    return [line for line in ran.stdout.splitlines() if "program.py" in line and ": error: " in line]


def test_typed_program_of_a_user_has_no_errors(tmp_path: pathlib.Path) -> None:
    assert checked(tmp_path, GOOD) == []


@pytest.mark.parametrize("wrong, said", [
    ("c.options(num_cpus=1)", 'Unexpected keyword argument "num_cpus"'),
    ("c.options(retries='2')", 'Argument "retries"'),
    ("muster.ClusterCoordinator(wieght=2)", 'Unexpected keyword argument "wieght"'),
    ("muster.Agent(task=3, timeout=1)", 'Unexpected keyword argument "timeout"'),
    ("muster.launch(['x'], task=3)", 'Unexpected keyword argument "task"'),
    ("muster.Executor('h:1').submit(len, 1)", 'Argument 2 to "submit"'),
])
def test_wrong_option_is_one_error(tmp_path: pathlib.Path, wrong: str, said: str) -> None:
    (line,) = checked(tmp_path, f"import muster\n\n\ndef f(c: muster.ClusterCoordinator) -> None:\n"
                                f"    {wrong}\n")
    assert said in line


@pytest.mark.parametrize("words, options, but", [
    (ClosureWords, muster.ClosureOptions, set()),
    (CoordinatorWords, muster.CoordinatorOptions, set()),
    (WorkerWords, muster.WorkerOptions, {"servers", "slots"}),
])
def test_type_checkers_know_all_options(words: Any, options: Any, but: set[str]) -> None:
    fields = {f.name: f.type for f in dataclasses.fields(options)
              if f.name not in but}
    assert {name: given.__forward_arg__ for name, given in words.__annotations__.items()} == fields


def test_all_public_names_are_exported() -> None:
    for name in muster.__all__:
        assert getattr(muster, name) is not None
    assert sorted(muster.__all__) == sorted(muster._HOME)
