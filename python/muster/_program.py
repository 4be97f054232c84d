"""Locates and runs the program ``muster``."""
from __future__ import annotations

import os
import pathlib
import shutil
import sys
from typing import NoReturn, Sequence

BUNDLED = pathlib.Path(__file__).parent / "_bundled" / "bin" / "muster"
"""Path of the program in a platform wheel. The pure Python wheel does not contain the program."""


def find() -> str:
    """Returns the path of the program: MUSTER_BINARY, otherwise the program in this package's wheel, otherwise `muster`
    in PATH. Raises FileNotFoundError if MUSTER_BINARY cannot be executed or no program is found.
    """
    named = os.environ.get("MUSTER_BINARY")
    if named:
        program = shutil.which(named)
        if not program:
            raise FileNotFoundError(f"MUSTER_BINARY: {named!r} is not an executable file")
        return program
    if BUNDLED.is_file():
        return str(BUNDLED)
    found = shutil.which("muster")
    if not found:
        raise FileNotFoundError(
            "the muster executable is missing, because this package does not contain it. Install a wheel for this "
            "platform (built by scripts/package wheel) or the Debian package, or set MUSTER_BINARY to the path of the "
            "executable")
    return found


def run(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process with the program. Raises FileNotFoundError if the program is not found."""
    program = find()
    sys.stdout.flush()
    os.execv(program, ["muster", *arguments])


def main() -> NoReturn:
    """Entry point of the command ``muster`` in a platform wheel."""
    run(sys.argv[1:])
