"""Updates of a variable by many workers while all connections break repeatedly: each update is made exactly once."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from conftest import HERE, binary

BENCH = HERE.parents[1] / "bench" / "objects"


@pytest.mark.skipif(not BENCH.exists(), reason="only beside the benchmarks")
@pytest.mark.parametrize("updates, row", [(100_000, 1), (400, 4096)], ids=["small", "of 2 MiB"])
def test_updates_are_counted_exactly_while_connections_break(updates: int, row: int) -> None:
    pytest.importorskip("numpy")
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run([sys.executable, str(BENCH), "--count", "--updates", str(updates), "--row", str(row), "--cuts", "10",
                          "--every", "0.1"],
                         env={**os.environ, "PYTHONPATH": path, "MUSTER_BINARY": str(pathlib.Path(binary()).resolve())},
                         capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    assert f"{updates:,} of {updates:,} updates" in ran.stdout
    assert row > 1 or "10 cuts" in ran.stdout  # large updates may be complete earlier
