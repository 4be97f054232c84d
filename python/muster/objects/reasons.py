"""Reasons why the server itself fails a call (`muster.v1.FailureReason`), and the caller's reactions. The error message
of such a call is intended only for users.
"""
from __future__ import annotations

from typing import Any

from muster.errors import FailureKind, UnavailableError

NO_ROOM_FOR_CALL = 1
"""The server had no room for the call, which was not executed."""
NO_ROOM_FOR_VALUE = 2
"""The server had no room for the result of the call, which was executed."""
SERVER_RESTARTED = 3
"""The object belonged to an earlier process of the server."""

ARGUMENT_GONE = "muster.ArgumentGone"
"""Type of the failure of a call that was not executed, because its caller could not provide its arguments."""
NO_ROOM = frozenset((NO_ROOM_FOR_CALL, NO_ROOM_FOR_VALUE))
READS = frozenset(("read", "read_rows", "gather", "info", "save", "cut_rows"))
REPEATED = READS | frozenset(("assign_add", "assign_sub", "scatter_add", "scatter_sub", "sgd", "sgd_rows", "adam",
                              "adam_rows", "begin_cut", "end_cut", "muster.large"))
"""Methods of variables, and the method of `large`, that may be executed after calls that were made later. If there is
no room for such calls, they are sent again, because callers do not wait for the answer of an update.
"""


def may_be_repeated(call: Any, reason: int) -> bool:
    if not call.plain or call.loads is not None:
        return False
    return ((reason == NO_ROOM_FOR_CALL and call.method in REPEATED) or
            (reason == NO_ROOM_FOR_VALUE and call.method in READS))


def may_be_given_again(call: Any, type: str) -> bool:
    return type == ARGUMENT_GONE and bool(call.kept) and call.plain and call.method in REPEATED


def lost(call: Any) -> UnavailableError:
    """Returns the error of a call whose object was lost when the server restarted."""
    task, what = call.of
    where = f" on {task}" if task else ""
    return UnavailableError(FailureKind.DEPENDENCY_LOST, "",
                            f"UNAVAILABLE: {what or 'an object'}{where} no longer exists, because the server was "
                            "restarted",
                            dependency=[task] if task else None)


def result_gone(call: Any) -> UnavailableError:
    """Returns the error of a call that was executed, but whose large result was lost because its task was lost."""
    task, what = call.of
    where = f" on {task}" if task else ""
    return UnavailableError(FailureKind.DEPENDENCY_LOST, "",
                            f"UNAVAILABLE: the result of {call.method} of {what or 'an object'}{where} was lost, "
                            "because only the memory of that task contained it",
                            dependency=[task] if task else None)


def unavailable(reason: str) -> UnavailableError:
    return UnavailableError(FailureKind.DEPENDENCY_LOST, "muster.ClusterCoordinator", reason)
