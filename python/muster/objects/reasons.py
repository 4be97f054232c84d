"""Why the server itself has failed a call, as `muster.v1.FailureReason` says it, and what its caller does then.
What the server writes beside it is for people alone."""
from __future__ import annotations

from typing import Any

from muster.errors import FailureKind, UnavailableError

NO_ROOM_FOR_CALL = 1
"""It was not executed."""
NO_ROOM_FOR_VALUE = 2
"""It was."""
SERVER_RESTARTED = 3
"""An earlier process of the server had the object."""

ARGUMENT_GONE = "muster.ArgumentGone"
"""The type of the failure of a call that was not executed, as what it was given could not be had from its caller."""
NO_ROOM = frozenset((NO_ROOM_FOR_CALL, NO_ROOM_FOR_VALUE))
READS = frozenset(("read", "read_rows", "gather", "info", "save", "cut_rows"))
REPEATED = READS | frozenset(("assign_add", "assign_sub", "scatter_add", "scatter_sub", "sgd", "sgd_rows", "adam",
                              "adam_rows", "begin_cut", "end_cut", "muster.large"))
"""Methods of variables, and the one of `large`, that may be executed behind calls that were made later: without room they are sent
again, as nobody waits for the answer of an update."""


def may_be_repeated(call: Any, reason: int) -> bool:
    if not call.plain or call.loads is not None:
        return False
    return ((reason == NO_ROOM_FOR_CALL and call.method in REPEATED) or
            (reason == NO_ROOM_FOR_VALUE and call.method in READS))


def may_be_given_again(call: Any, type: str) -> bool:
    return type == ARGUMENT_GONE and bool(call.kept) and call.plain and call.method in REPEATED


def lost(call: Any) -> UnavailableError:
    """With the server that had its object."""
    task, what = call.of
    where = f" on {task}" if task else ""
    return UnavailableError(FailureKind.DEPENDENCY_LOST, "", f"UNAVAILABLE: {what or 'an object'}{where} is not there "
                            "any more: the server has started anew", dependency=[task] if task else None)


def result_gone(call: Any) -> UnavailableError:
    """It was executed, and its large result went with the memory of its task before it was here."""
    task, what = call.of
    where = f" on {task}" if task else ""
    return UnavailableError(FailureKind.DEPENDENCY_LOST, "", f"UNAVAILABLE: what {call.method} of {what or 'an object'}{where} "
                            "has returned was in the memory of that task, which has it no more",
                            dependency=[task] if task else None)


def unavailable(reason: str) -> UnavailableError:
    return UnavailableError(FailureKind.DEPENDENCY_LOST, "muster.ClusterCoordinator", reason)
