"""Callbacks and timeouts of values that are joined from several calls."""
from __future__ import annotations

import concurrent.futures

import pytest

import muster
from muster.objects.calls import Calls
from muster.variables.values import JoinedValue, Later


def test_wait_leaves_no_callbacks_behind() -> None:
    part = Later(Calls(lambda: None), None)
    joined = JoinedValue([part, part], list, None)
    for _ in range(3):
        assert muster.wait([joined], timeout=0) == ([], [joined])
        assert muster.wait([joined], timeout=0.01) == ([], [joined])
    assert part._waiters == [] and joined._added == []


def test_callbacks_are_called_once_all_parts_have_ended() -> None:
    parts = [Later(Calls(lambda: None), None) for _ in range(2)]
    joined = JoinedValue(parts, list, None)
    called: list[int] = []
    kept, forgotten = (lambda: called.append(1)), (lambda: called.append(2))
    joined.add_done_callback(kept)
    joined.add_done_callback(forgotten)
    joined._forget_callback(forgotten)
    error = muster.UnavailableError(muster.FailureKind.DEPENDENCY_LOST, "", "lost")
    parts[0].made(None, error)
    assert called == []
    parts[1].made(None, error)
    assert called == [1] and joined._added == []


def test_as_completed_ends_with_its_timeout() -> None:
    joined = JoinedValue([Later(Calls(lambda: None), None)], list, None)
    with pytest.raises((muster.WaitTimeout, concurrent.futures.TimeoutError)):
        list(muster.as_completed([joined], timeout=0.6))
