"""The programs of examples/python, run completely on real data."""
from __future__ import annotations

import collections
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import Cluster, binary

TOP = pathlib.Path(__file__).parents[2]
EXAMPLES = TOP / "examples" / "python"
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="only beside the examples")


def run(cluster: Cluster, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
                   "MUSTER_SERVER": cluster.server.grpc}
    made = subprocess.run([sys.executable, *words], cwd=EXAMPLES, capture_output=True, text=True,
                          timeout=300, env=environment)
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_words_are_counted_over_files(cluster: Cluster) -> None:
    files = sorted(str(p) for p in (TOP / "docs").glob("*.md"))
    expected: collections.Counter[str] = collections.Counter()
    for path in files:
        expected.update(re.findall(r"[a-z]+", pathlib.Path(path).read_text().lower()))
    shown = [line.split() for line in run(cluster, "word_count.py", *files).splitlines()]
    assert len(shown) == 10
    assert all(expected[word] == int(times) for times, word in shown)
    assert int(shown[0][0]) == max(expected.values())


@pytest.mark.parametrize("program", ["word_count.py", "parameter_servers.py"])
@pytest.mark.parametrize("words", [[], ["--help"]])
def test_example_without_its_arguments_prints_its_usage(program: str, words: list[str]) -> None:
    if program == "parameter_servers.py":
        pytest.importorskip("numpy")
    made = subprocess.run([sys.executable, program, *words], cwd=EXAMPLES, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert made.returncode == 1 and program in made.stderr and "Traceback" not in made.stderr


def test_search_survives_a_killed_worker(cluster: Cluster) -> None:
    pytest.importorskip("sklearn")
    best = re.fullmatch(r"(\S+) with C=(\S+) and gamma=(\S+)\n",
                        run(cluster, "hyperparameter_search.py", "--kill-one"))
    assert best and float(best[1]) > 0.97 and best[3] == "0.001"


def test_four_processes_train_as_one() -> None:
    for needed in ("jax", "sklearn"):
        pytest.importorskip(needed)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    made = subprocess.run([binary(), "run", "--nproc", "4", "--", sys.executable,
                           "data_parallel_jax.py"], cwd=EXAMPLES, stdout=subprocess.PIPE, text=True,
                          timeout=300, env=environment)
    assert made.returncode == 0
    said = re.search(r"accuracy (\S+) on 397 images, 4 processes", made.stdout)
    assert said and float(said[1]) > 0.97
