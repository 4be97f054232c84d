"""Counts the words of files on the cluster, as map and reduce:  word_count.py FILE…

Each file is split into counts by the first letter of the words, one part for each reducer; workers send
parts to each other, and only the sums return to this program. MUSTER_SERVER is the address of a server.
Without it the program starts a server with two workers on this machine.
"""
import collections
import contextlib
import os
import re
import sys

import muster

REDUCERS = 4


def split(path):
    """The file's counts, divided among the reducers."""
    parts = [collections.Counter() for _ in range(REDUCERS)]
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            for word in re.findall(r"[a-z]+", line.lower()):
                parts[ord(word[0]) % REDUCERS][word] += 1
    return parts


def part(parts, reducer):
    return parts[reducer]


def add(parts):
    return sum(parts, collections.Counter())


def count(coordinator, paths):
    counted = [coordinator.submit(split, os.path.abspath(path)) for path in paths]
    reduced = [coordinator.submit(add, [coordinator.submit(part, c, r) for c in counted])
               for r in range(REDUCERS)]
    return add(coordinator.fetch(reduced))


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with contextlib.ExitStack() as stack:
        server = os.environ.get("MUSTER_SERVER")
        if not server:
            server = stack.enter_context(muster.LocalCluster(workers=2)).address
        coordinator = stack.enter_context(muster.ClusterCoordinator(server, name="word count"))
        for word, times in count(coordinator, sys.argv[1:]).most_common(10):
            print(f"{times:8} {word}")


if __name__ == "__main__":
    main()
