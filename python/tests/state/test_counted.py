"""Updates of a variable by many workers, while all connections break again and again: each is made once."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from conftest import HERE, binary

BENCH = HERE.parents[1] / "bench" / "objects"


@pytest.mark.skipif(not BENCH.exists(), reason="only beside the benchmarks")
def test_updates_are_counted_exactly_while_connections_break() -> None:
    pytest.importorskip("numpy")
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run([sys.executable, str(BENCH), "--count", "--updates", "100000", "--cuts", "10", "--every", "0.1"],
                         env={**os.environ, "PYTHONPATH": path, "MUSTER_BINARY": str(pathlib.Path(binary()).resolve())},
                         capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    assert "100,000 of 100,000 updates" in ran.stdout and "10 cuts" in ran.stdout
