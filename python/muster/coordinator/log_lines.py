"""What functions print and log on workers: shown here while they run, and asked for by value."""
from __future__ import annotations

import collections
import datetime
import os
import sys
import threading
import weakref
from typing import Any, Iterable, Iterator, NamedTuple

from muster._neutral import neutral_text
from muster._wire import messages
from muster.coordinator.records import Record

LEVELS = ("info", "debug", "warning", "error", "stdout", "stderr", "dropped")
PAGE_LINES = 1000
UNFINISHED = "\r"
"""Ends a line that has not ended yet: the next one of its closure, attempt and level replaces it."""
WAITING_MAX = 20_000
"""Lines that wait to be printed. Full: the oldest are dropped, and counted."""
PATIENCE = 0.2
"""Seconds that outcomes wait for the lines before them to be printed."""


class LogLine(NamedTuple):
    """A line that a function printed or logged. `level` is debug, info, warning or error of logging,
    stdout or stderr for what was printed, and dropped where the worker had no room for lines: the
    text says how many."""

    time: datetime.datetime
    level: str
    text: str
    worker: str
    attempt: int


class Logs(list[LogLine]):
    """Lines of one closure, oldest first. `dropped`: how many more the server has dropped."""

    dropped = 0


def of_record(session: Any, record: Record, timeout: float) -> Logs:
    lines = Logs()
    session_id = session.id
    if not session_id:  # nothing has run
        return lines
    after = 0
    unfinished: dict[tuple[int, int], LogLine] = {}
    while True:
        request = messages.GetLogsRequest(session=session_id, closure=record.closure,
                                          token=0 if record.closure else record.token,
                                          after=after, limit=PAGE_LINES)
        page = session.link.ask("GetLogs", request, messages.GetLogsResponse, timeout)
        for wire in page.line:  # of an earlier page, it may have been replaced since
            shown = unfinished.pop((wire.attempt, wire.level), None)
            if shown is not None:
                lines.remove(shown)
            line = _line(wire)
            lines.append(line)
            if wire.text.endswith(UNFINISHED):
                unfinished[wire.attempt, wire.level] = line
        lines.dropped = page.dropped
        if not page.line or page.line[-1].number >= page.last:
            return lines
        after = page.line[-1].number


def _line(wire: Any) -> LogLine:
    at = datetime.datetime.fromtimestamp(wire.time_ms / 1000, datetime.timezone.utc)
    return LogLine(at, _level(wire), wire.text.rstrip(UNFINISHED), wire.worker, wire.attempt)


def _level(wire: Any) -> str:
    return LEVELS[wire.level] if wire.level < len(LEVELS) else "info"


def shown(asked: bool | None) -> bool:
    """Returns whether lines are shown here. None: as MUSTER_LOG_TO_DRIVER says, 1 or 0; else yes."""
    if asked is not None:
        return asked
    return os.environ.get("MUSTER_LOG_TO_DRIVER", "1").lower() not in ("0", "false", "off", "no")


def _kernel() -> Any:
    """Of the notebook that this runs in."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython import get_ipython  # type: ignore[import-not-found, unused-ignore]
    return getattr(get_ipython(), "kernel", None)


class Printer:
    """Prints the lines of a session, on a thread of its own: a terminal that takes nothing holds up
    no outcome. `take` and `ask` are called by the thread that reads the session's stream."""

    def __init__(self) -> None:
        self._last = 0
        self._changed = threading.Condition()  # protects all below
        self._waiting: collections.deque[Any] = collections.deque()
        self._dropped = 0
        self._printing = False
        self._stuck = False
        self._over = False
        self._thread: threading.Thread | None = None

    def ask(self, open: Any) -> None:
        """For lines from where they were broken off."""
        open.log_lines = True
        open.log_lines_after = self._last

    def take(self, m: Any) -> None:
        """Of a SessionResponse. Returns when they are printed, or that takes too long."""
        lines, dropped = list(m.log), 0
        for line in lines:
            if line.number > self._last:  # else the server has begun anew
                dropped += line.number - self._last - 1
            self._last = line.number
        if m.log_last > self._last and not lines:
            dropped += m.log_last - self._last
            self._last = m.log_last
        with self._changed:
            self._waiting.extend(lines)
            self._dropped += dropped + max(0, len(self._waiting) - WAITING_MAX)
            while len(self._waiting) > WAITING_MAX:
                self._waiting.popleft()
            if not self._waiting and not self._dropped:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="muster-lines", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            self._stuck = not self._changed.wait_for(self._is_through,
                                                     0 if self._stuck else PATIENCE)

    def close(self) -> None:
        """Prints what waits; nothing comes any more."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _is_through(self) -> bool:
        return not (self._waiting or self._dropped or self._printing)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._printing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._over or not self._is_through())  # for lines
                if self._is_through():
                    return
                lines, dropped = list(self._waiting), self._dropped
                self._waiting.clear()
                self._dropped = 0
                self._printing = True
            try:
                _print(lines, dropped)
            except Exception:  # it is closed, or the user's own stream: there is nobody to tell
                pass


def _print(lines: Iterable[Any], dropped: int) -> None:
    out: list[Any] = []
    err: list[Any] = []
    if dropped:
        err.append(f"(muster) … {dropped} {'line' if dropped == 1 else 'lines'} dropped\n")
    for line in lines:
        (out if _level(line) == "stdout" else err).append(line)
    kernel = _kernel()
    for stream, some in ((sys.stdout, out), (sys.stderr, err)):
        if some and stream is not None:
            if kernel is not None and hasattr(stream, "set_parent"):
                stream.set_parent(kernel.get_parent())  # below the cell that runs now
            stream.write("".join(_texts(some, stream)))
            stream.flush()


_unfinished: tuple[weakref.ref[Any], tuple[int, int, int]] | None = None
"""The stream and the source of an unfinished line on the terminal, if the cursor is at its beginning. Both streams share the
terminal."""


_shown: set[tuple[int, int, int]] = set()
"""Sources whose unfinished line was shown on the terminal."""
_SHOWN_MAX = 256
"""Sources with unfinished lines. The lines of further ones are shown when they end."""


def _texts(lines: list[Any], stream: Any) -> Iterator[str]:
    """Yields what shows the lines. On a terminal, the next line of the same closure, attempt and level replaces an unfinished one.
    Any other text begins below it. Only the first unfinished line of another source is shown there, so that several progress bars
    do not fill the terminal."""
    global _unfinished
    terminal = getattr(stream, "isatty", bool)()
    for line in lines:
        source = (0, 0, 0) if isinstance(line, str) else (line.closure, line.attempt, line.level)
        last = _unfinished if terminal else None
        if terminal and not isinstance(line, str):
            if not line.text.endswith(UNFINISHED):
                _shown.discard(source)
            elif source in _shown or len(_shown) == _SHOWN_MAX:
                if last is not None and last[1] != source:
                    continue
            else:
                _shown.add(source)
        if last is not None:
            _unfinished = None
            if last[0]() is not None:
                yield "\x1b[K" if last[1] == source else "\n"
        if isinstance(line, str):
            yield line
        elif terminal and line.text.endswith(UNFINISHED):
            _unfinished = weakref.ref(stream), source
            yield "\x1b[?7l" + _text(line) + "\x1b[?7h" + UNFINISHED  # cut at the right edge of the terminal
        else:
            yield _text(line) + "\n"


def _text(line: Any) -> str:
    level = _level(line)
    said = f"{level}: " if level in ("debug", "warning", "error") else ""
    who = " ".join(filter(None, (line.function, line.worker)))
    return f"({neutral_text(who)}) {said}{neutral_text(line.text.rstrip(UNFINISHED))}"
