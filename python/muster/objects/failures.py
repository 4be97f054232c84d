"""A program that is started again when a task with its state is lost."""
from __future__ import annotations

import contextlib
import os
import sys
from typing import Iterator

from muster.errors import UnavailableError


@contextlib.contextmanager
def handle_parameter_server_failure() -> Iterator[None]:
    """Around the block of a program that uses objects or parameter servers. An UnavailableError ends the
    program with the exit status in TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE, so that whoever started it
    (``muster run`` does) starts it again; without the variable it is raised."""
    try:
        yield
    except UnavailableError:
        status = os.environ.get("TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE", "")
        if not status.isdecimal():
            raise
        sys.exit(int(status))
