"""Restarts a program after it has lost a task and the task's state."""
from __future__ import annotations

import contextlib
import os
import sys
from typing import Iterator

from muster.errors import UnavailableError


@contextlib.contextmanager
def handle_parameter_server_failure() -> Iterator[None]:
    """Returns a context manager for programs that use objects or parameter servers. If its block raises
    UnavailableError, the program exits.

    The program exits with the status in TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE, so that its parent, such as
    ``muster run``, restarts the program. If this environment variable is not set, the error is raised.

    Returns:
        A context manager.

    Raises:
        SystemExit: The block raised an UnavailableError, and the environment variable is set.

    Example:
        ```python
        import muster

        with muster.handle_parameter_server_failure():
            print("training")
        ```
    """
    try:
        yield
    except UnavailableError:
        status = os.environ.get("TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE", "")
        if not status.isdecimal():
            raise
        sys.exit(int(status))
