"""Progress bars, which are shown only if tqdm is installed."""
from __future__ import annotations

from typing import Any


class Bar:
    """A progress bar. Shows nothing if `shown` is False or tqdm is not installed. Use the bar on only one thread at a
    time.
    """

    def __init__(self, shown: bool, total: int | None) -> None:
        """Creates the bar. `total` is the number of steps, or None if the number is unknown."""
        self._bar: Any = None
        if not shown:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(total=total)

    def add(self, count: int) -> None:
        if self._bar is not None:
            self._bar.update(count)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
