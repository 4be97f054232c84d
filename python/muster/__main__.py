"""``python -m muster worker`` runs a Python worker. Every other command, such as ``python -m muster serve``, is passed
to the program ``muster``.
"""
from __future__ import annotations

import sys

from muster import _program


def main() -> int:
    if sys.argv[1:2] == ["worker"]:
        from muster.worker.command import main as worker

        return worker(sys.argv[2:])
    try:
        _program.run(sys.argv[1:])
    except OSError as error:
        print(f"muster: {error}", file=sys.stderr)
        print("usage: python -m muster worker [MODULE…] [--server HOST:PORT] [--processes N]",
              file=sys.stderr)
        return 0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main())
