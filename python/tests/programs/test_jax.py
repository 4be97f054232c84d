"""JAX's initialize() without arguments, in ranks of `muster run` and `muster launch`."""
from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

import muster
from conftest import DEADLINE, binary, python, until

pytest.importorskip("jax")

PROGRAM = """
import jax
jax.distributed.initialize()
print("process", jax.process_index(), "of", jax.process_count(), "devices", len(jax.local_devices()), flush=True)
"""
SAID = {f"process {i} of 2 devices 1" for i in range(2)}
# The variables of a Slurm allocation. Without the variables of Muster, JAX would read them.
SLURM = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "nowhere", "SLURM_NTASKS": "9", "SLURM_PROCID": "8",
         "SLURM_LOCALID": "3"}


@pytest.mark.parametrize("around", [{}, SLURM])
def test_initialize_needs_no_arguments_in_a_run(tmp_path: pathlib.Path, around: dict[str, str]) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os.environ['OWN'] = 'kept'\n")
    code = PROGRAM + "import os; assert os.environ['OWN'] == 'kept'\n"
    run = subprocess.run([binary(), "run", "--nproc", "2", "--no-prefix", "--", *python(code)], text=True,
                         env={**os.environ, **around, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(tmp_path)},
                         capture_output=True, timeout=DEADLINE)
    assert run.returncode == 0, run.stderr
    assert set(run.stdout.splitlines()) == SAID


def test_run_inside_a_run_starts_python(tmp_path: pathlib.Path) -> None:
    inner = ["env", "-u", "TF_CONFIG", binary(), "run", "--nproc", "1", "--no-prefix", "--", *python("print('inner')")]
    run = subprocess.run([binary(), "run", "--nproc", "1", "--no-prefix", "--", *inner], capture_output=True, text=True,
                         timeout=DEADLINE)
    assert (run.returncode, run.stdout, run.stderr) == (0, "inner\n", "")


@pytest.mark.parametrize("preload", [None, ["json"]])
def test_initialize_needs_no_arguments_in_a_program(url: str, preload: list[str] | None) -> None:
    p = muster.launch(python(PROGRAM), tasks=2, env={"JAX_PLATFORMS": "cpu"}, preload=preload or [])
    p.wait(DEADLINE)
    assert {p.logs(rank)[-1] for rank in range(2)} == SAID


STUCK = """
import time
import jax
jax.distributed.initialize()
from jax.experimental import multihost_utils

def stuck():
    while True:
        time.sleep(1)

for i in range(100):
    if i == 3 and jax.process_index() == 1:
        stuck()
    multihost_utils.sync_global_devices(f"step {i}")
"""


def test_rank_outside_of_the_collective_is_named(url: str) -> None:
    p = muster.launch(python(STUCK), tasks=2, env={"JAX_PLATFORMS": "cpu"}, hang_after=2.0)
    hang = until(lambda: p.refresh().get("hang"), "it is found")
    assert (hang["rank"], hang["evidence"]) == (1, "COLLECTIVE"), hang
    assert hang["line"].endswith(" in stuck") and hang["waiting_line"].endswith(" in <module>"), hang
    assert "rank 1 on " in hang["text"] and "has not entered the collective operation in which the other ranks are waiting" in hang["text"]
    p.cancel()
