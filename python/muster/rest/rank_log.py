"""What one rank prints in one attempt, as lines, read piece by piece where the last look ended."""
from __future__ import annotations

from typing import Any, Callable, Iterator

LOOKS = 5
"""So often in a row a log of an attempt that is over may be unknown before it counts as lost: its
worker tells the last lines a moment after the end, or it is gone."""


class RankLog:
    """`ask`: (rank, attempt, offset) to a piece, as REST has it."""

    def __init__(self, ask: Callable[[int, int, int], dict[str, Any]], rank: int, attempt: int) -> None:
        self._ask = ask
        self.rank = rank
        self.attempt = attempt
        self.complete = False
        """Nothing will be added, and all was read."""
        self._offset = 0
        self._begun = ""  # of a line that has not ended
        self._looks = 0

    def more(self) -> Iterator[str]:
        """Whole lines that are new, as far as it goes now: one who prints without end is left in time."""
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
        """The beginning of a line that does not end."""
        begun, self._begun = self._begun, ""
        return [begun] if begun else []

    def gone(self) -> bool:
        """Whether it was looked for in vain often enough; counts the looks."""
        self._looks += 1
        return self._looks > LOOKS
