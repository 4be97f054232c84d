"""Reads small files that a person has named: tokens, certificates, rules."""
from __future__ import annotations

import os
from typing import Union

BYTES_MAX = 1 << 20


def read_bounded_file(path: Union[str, os.PathLike[str]]) -> bytes:
    """Returns the content. It stops at the limit, so that a device without an end is refused, too.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has more than 1 MiB.
    """
    with open(path, "rb") as file:
        content = file.read(BYTES_MAX + 1)
    if len(content) > BYTES_MAX:
        raise ValueError(f"{os.fspath(path)}: is larger than 1 MiB")
    return content
