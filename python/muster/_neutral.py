"""Makes text from other processes safe to print on a terminal."""
from __future__ import annotations

import re

# C0 control characters except newline and tab are replaced with spaces. C1 control characters and DEL are replaced with
# visible escapes, and so are directional marks, overrides and isolates, which can change the display order of a text.
_HOSTILE = {code: " " for code in range(0x20) if code not in (0x09, 0x0A)}
_HOSTILE.update({code: f"\\u{code:04x}"
                 for code in (*range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F,
                              *range(0x202A, 0x202F), *range(0x2066, 0x206A))})
_COLOURS = re.compile("(\x1b\\[[0-9;:]*m)")
_RESET = "\x1b[0m"


def neutral_text(text: str) -> str:
    """Replaces characters that can control a terminal or change the displayed text. Colours (SGR sequences) are kept.
    If the text contains colours, a reset sequence is appended so that they do not affect later text.
    """
    if "\x1b" not in text:
        return text.translate(_HOSTILE)
    parts = _COLOURS.split(text)
    parts[::2] = [part.translate(_HOSTILE) for part in parts[::2]]
    return "".join(parts) + (_RESET if len(parts) > 1 and text[-len(_RESET):] != _RESET else "")
