"""Progress bars, where tqdm is installed; nothing otherwise."""
from __future__ import annotations

from typing import Any


class Bar:
    """One thread at a time."""

    def __init__(self, shown: bool, total: int | None) -> None:
        """`total`: None if it is not known."""
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
