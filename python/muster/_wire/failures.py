"""Failures between the wire and exceptions."""
from __future__ import annotations

from typing import Any, Optional

from muster import _failures
from muster.errors import ClosureError, Failure


def from_wire(f: Any, own: bool = False, cause: Optional[ClosureError] = None) -> ClosureError:
    """The plain exception that a `muster.v1.Failure` stands for; `again` makes it whole. See Failure for
    `own` and `cause`."""
    return _failures.plain(Failure(_failures.kind_of(f.kind, f.type), f.type, f.message, f.traceback,
                                   f.worker, f.attempt, list(f.dependency), f.exception, own, cause))
