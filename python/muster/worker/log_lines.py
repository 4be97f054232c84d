"""Formats log lines in the format of servers and C++ workers."""
from __future__ import annotations

import datetime
import logging

_NAMES = {logging.DEBUG: "debug", logging.INFO: "info", logging.WARNING: "warning",
          logging.ERROR: "error", logging.CRITICAL: "critical"}


class LineFormatter(logging.Formatter):
    r"""Formats an event as ``2026-01-31T12:00:00.123Z info text``, in UTC and on a single line. Newlines within the
    text are written as \n.
    """

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.datetime.fromtimestamp(record.created, datetime.timezone.utc)
        time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        level = _NAMES.get(record.levelno, record.levelname.lower())
        return f"{time} {level:5} " + super().format(record).replace("\n", "\\n")
