"""``python -m muster worker``; the program ``muster`` has all other verbs."""
from __future__ import annotations

import sys


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] != "worker":
        print("usage: python -m muster worker [MODULE…] [--server HOST:PORT] [--processes N]",
              file=sys.stderr)
        return 0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2
    from muster.worker.command import main as worker

    return worker(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
