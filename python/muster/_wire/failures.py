"""Failures between the wire and exceptions."""
from __future__ import annotations

from typing import Any

from muster.errors import ClosureError, failure_error


def from_wire(f: Any) -> ClosureError:
    """The exception that a `muster.v1.Failure` stands for."""
    return failure_error(f.kind, f.type, f.message, f.traceback, f.worker, f.attempt,
                         list(f.dependency))
