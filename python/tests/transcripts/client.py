"""A client program for transcripts: it schedules a fixed set of calls, prints their results, and waits for a line on
standard input where the connection is to be cut. tests/client/transcript_client.cpp is the C++ version.

Callables are from the standard library: their pickles are names, which every version of Python can read.

  client.py HOST:PORT
"""
from __future__ import annotations

import functools
import operator
import sys
from typing import Any, Callable

import muster


def say(*words: Any) -> None:
    print(*words, flush=True)


def pause(why: str) -> None:
    say("PAUSE", why)
    sys.stdin.readline()


def say_error(wait: Callable[[], Any]) -> None:
    try:
        say("no error", wait())
    except muster.ClosureError as error:
        say(error.kind.name, f"{error.type}: {error.message}")


def main(server: str) -> None:
    with muster.ClusterCoordinator(server, name="transcript") as c:
        mean = c.schedule("mean", ([1, 2, 3],))
        say("by name:", mean.fetch())
        say("an output as an argument:", c.schedule("mean", ([mean, 4],), {"offset": 1}).fetch())
        total = c.schedule(operator.add, (1, 2))
        say("by value:", total.fetch())
        say("with options:",
            c.options(priority=5, retries=1).schedule(operator.mul, (total, 2)).fetch())
        large = functools.partial(operator.contains, bytes(17 << 10))  # large enough for a blob, if the server supports blobs
        say("by a large value:", c.schedule(large, (0,)).fetch())
        kept = c.create_per_worker_value(dict, ((("a", 1),),), name="kept")
        say("of the worker:", c.schedule(operator.getitem, (kept, "a")).fetch())

        failed = c.schedule("fail", ("no such column",))
        say_error(c.join)
        say_error(failed.fetch)

        stopped = c.schedule("progress", (600,))
        pause("started")
        stopped.cancel()
        say_error(stopped.fetch)
        c.join()

        slow = c.schedule("progress", (3,))
        pause("cut")
        say("after the cut:", slow.fetch())
        say("a value from before:", c.schedule(operator.add, (total, 4)).fetch())
        c.join()


if __name__ == "__main__":
    main(sys.argv[1])
