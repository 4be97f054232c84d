"""The token that clients send with every call."""
from __future__ import annotations

import os

from muster._bounded_file import read_bounded_file


def token_of(given: str = "") -> str:
    """Returns `given`, otherwise the value of MUSTER_TOKEN, otherwise the first line of the file whose path is in
    MUSTER_TOKEN_FILE.

    Returns an empty string if no token is set. Raises ValueError if the file cannot be read.
    """
    token = given or os.environ.get("MUSTER_TOKEN", "")
    path = os.environ.get("MUSTER_TOKEN_FILE", "")
    return first_line(path, "MUSTER_TOKEN_FILE") if path and not token else token


def first_line(path: str, setting: str) -> str:
    """Returns the first line of the file `path`. Error messages name the setting that contains the path.

    Raises:
        ValueError: The file cannot be read, or its first line is empty.
    """
    try:
        line = read_bounded_file(path).partition(b"\n")[0].decode().strip()
    except OSError as error:
        raise ValueError(f"{setting} {path}: {error.strerror}") from None
    if not line:
        raise ValueError(f"{setting} {path}: its first line is empty")
    return line
