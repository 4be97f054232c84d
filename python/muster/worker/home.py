"""Finds the server of the worker that runs a function. A coordinator that is created without an address connects to
this server. Never imports grpc.
"""
from __future__ import annotations

import dataclasses

from muster.worker import context


@dataclasses.dataclass(frozen=True)
class Home:
    """Address and credentials of a worker's server. The credentials are not passed to other hosts, because a pickled
    coordinator does not contain them.
    """

    servers: tuple[str, ...]
    cluster: str = ""
    token: str = dataclasses.field(default="", repr=False)
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    incarnation: int = 0
    """Number of the server process that has welcomed the worker, or 0 if unknown."""

    def credentials(self) -> dict[str, str | None]:
        return {"token": self.token, "ca": self.ca, "cert": self.cert, "key": self.key}


_process: Home | None = None


def set_process_home(home: Home) -> None:
    """Sets the home for methods of objects and for threads that do not run closures, such as threads started by
    functions.
    """
    global _process
    _process = home


def find() -> Home | None:
    """Returns the home of the function that this thread runs. Returns None if this process does not run functions of a
    worker.
    """
    running = context.current()
    found = running._holder.home if running is not None and running._holder is not None else None
    return found or _process
