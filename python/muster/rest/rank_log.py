"""Reads the output of a rank in an attempt as lines. Each read continues at the end of the previous read."""
from __future__ import annotations

from typing import Any, Callable, Iterator

LOOKS = 5
"""Number of consecutive failed reads after which the log of an ended attempt counts as lost. The worker sends the last
lines shortly after the end, unless the worker has failed.
"""


class RankLog:
    """Reads the log of a rank. `ask` is called with rank, attempt and offset, and returns a part of the output, as in
    the REST API.
    """

    def __init__(self, ask: Callable[[int, int, int], dict[str, Any]], rank: int, attempt: int) -> None:
        self._ask = ask
        self.rank = rank
        self.attempt = attempt
        self.complete = False
        """Whether the whole log was read and no output will follow."""
        self._offset = 0
        self._begun = ""  # beginning beginning of an unfinished line
        self._looks = 0

    def more(self) -> Iterator[str]:
        """Yields the new complete lines up to the current end of the log. Later output is not read, so the iteration
        completes even if the rank prints continuously.
        """
        until = -1
        while not self.complete and (until < 0 or self._offset < until):
            asked = self._offset
            piece = self._ask(self.rank, self.attempt, asked)
            if not piece["known"]:
                return
            until = piece["size"] if until < 0 else until
            self._offset = max(asked, piece["next_offset"])
            *lines, self._begun = (self._begun + piece["data"]).split("\n")
            yield from lines
            if piece["complete"] and self._offset >= piece["size"]:
                self.complete = True
                yield from self.rest()
            if self._offset == asked:
                return
            self._looks = 0

    def rest(self) -> list[str]:
        """Returns a list with the start of an unfinished line, or an empty list."""
        begun, self._begun = self._begun, ""
        return [begun] if begun else []

    def gone(self) -> bool:
        """Counts a failed read. Returns whether the log is considered lost."""
        self._looks += 1
        return self._looks > LOOKS
