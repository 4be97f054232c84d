"""Prints the lines that functions print and log on workers. The program prints the lines while the functions run, or
requests the lines of a single call.
"""
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
"""Last character of an unfinished line, which is replaced by the next line of the same closure, attempt and level."""
WAITING_MAX = 20_000
"""Maximum number of lines that wait to be printed. Beyond this limit, the oldest lines are dropped and counted."""
PATIENCE = 0.2
"""Seconds that outcomes wait until the lines before them are printed."""


class LogLine(NamedTuple):
    """A line that a function has printed or logged.

    `level` is "debug", "info", "warning" or "error" for a logged line, and "stdout" or "stderr" for a printed line. If
    the worker had no memory left for some lines, `level` is "dropped" and `text` is the number of dropped lines. `time`
    is in UTC. `worker` is the task of the worker, for example "worker:0". `attempt` starts at 1.
    """

    time: datetime.datetime
    level: str
    text: str
    worker: str
    attempt: int


class Logs(list[LogLine]):
    """The lines of one call, oldest first. `dropped` is the number of lines that the server has dropped."""

    dropped = 0


def of_record(session: Any, record: Record, timeout: float) -> Logs:
    lines = Logs()
    session_id = session.id
    if not session_id:  # no call has been sent
        return lines
    after = 0
    unfinished: dict[tuple[int, int], LogLine] = {}
    while True:
        request = messages.GetLogsRequest(session=session_id, closure=record.closure,
                                          token=0 if record.closure else record.token,
                                          after=after, limit=PAGE_LINES)
        page = session.link.ask("GetLogs", request, messages.GetLogsResponse, timeout)
        for wire in page.line:  # the line can replace an unfinished line of an earlier page
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
    """Returns whether this program prints the lines. If `asked` is None, the lines are printed unless
    MUSTER_LOG_TO_DRIVER is 0.
    """
    if asked is not None:
        return asked
    return os.environ.get("MUSTER_LOG_TO_DRIVER", "1").lower() not in ("0", "false", "off", "no")


def _kernel() -> Any:
    """Returns the kernel of the notebook that runs this code, or None outside a notebook."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython import get_ipython  # type: ignore[import-not-found, unused-ignore]
    return getattr(get_ipython(), "kernel", None)


class Printer:
    """Prints the lines of a session on a separate thread, so that a blocked terminal does not delay outcomes for long.
    The thread that reads the session's stream calls `take` and `ask`.
    """

    def __init__(self) -> None:
        self._last = 0
        self._changed = threading.Condition()  # protects the fields below
        self._waiting: collections.deque[Any] = collections.deque()
        self._dropped = 0
        self._printing = False
        self._stuck = False
        self._over = False
        self._thread: threading.Thread | None = None

    def ask(self, open: Any) -> None:
        """Requests the lines that follow the last received line."""
        open.log_lines = True
        open.log_lines_after = self._last

    def take(self, m: Any) -> None:
        """Queues the lines of a SessionResponse for printing. Returns when the lines have been printed, or after
        PATIENCE seconds.
        """
        lines, dropped = list(m.log), 0
        for line in lines:
            if line.number > self._last:  # otherwise the server has restarted and numbers the lines from the beginning
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
        """Prints the queued lines and stops the thread."""
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
                self._changed.wait_for(lambda: self._over or not self._is_through())  # waits for lines, without a limit
                if self._is_through():
                    return
                lines, dropped = list(self._waiting), self._dropped
                self._waiting.clear()
                self._dropped = 0
                self._printing = True
            try:
                _print(lines, dropped)
            except Exception:  # a closed stream, or an error of the user's own stream, cannot be reported
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
                stream.set_parent(kernel.get_parent())  # prints below the running cell
            stream.write("".join(_texts(some, stream)))
            stream.flush()


_unfinished: tuple[weakref.ref[Any], tuple[int, int, int]] | None = None
"""The stream and the source of an unfinished line on the terminal, if the cursor is at the start of that line. Both
streams share the terminal.
"""


_shown: set[tuple[int, int, int]] = set()
"""Sources whose unfinished line was printed on the terminal."""
_SHOWN_MAX = 256
"""Maximum number of sources with unfinished lines on the terminal. Lines of additional sources are printed only when
the lines are finished.
"""


def _texts(lines: list[Any], stream: Any) -> Iterator[str]:
    """Yields the text of the lines. On a terminal, an unfinished line is replaced by the next line of the same closure,
    attempt and level. All other text starts on a new line. For other sources, only the first unfinished line is
    printed, so that several progress bars do not fill the terminal.
    """
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
            yield "\x1b[?7l" + _text(line) + "\x1b[?7h" + UNFINISHED  # the terminal cuts the line at its right edge
        else:
            yield _text(line) + "\n"


def _text(line: Any) -> str:
    level = _level(line)
    said = f"{level}: " if level in ("debug", "warning", "error") else ""
    who = " ".join(filter(None, (line.function, line.worker)))
    return f"({neutral_text(who)}) {said}{neutral_text(line.text.rstrip(UNFINISHED))}"
