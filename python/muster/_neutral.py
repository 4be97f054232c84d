"""Makes text of other processes harmless on a terminal."""
from __future__ import annotations

import re

# C0 controls except newline and tab become spaces. C1 controls and DEL become visible escapes. So do directional
# marks, overrides and isolates, which can change the displayed order of a text.
_HOSTILE = {code: " " for code in range(0x20) if code not in (0x09, 0x0A)}
_HOSTILE.update({code: f"\\u{code:04x}"
                 for code in (*range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F,
                              *range(0x202A, 0x202F), *range(0x2066, 0x206A))})
_COLOURS = re.compile("(\x1b\\[[0-9;:]*m)")
_RESET = "\x1b[0m"


def neutral_text(text: str) -> str:
    """Replaces characters that can control or mislead a terminal. Colours (SGR sequences) are kept.

    A text with colours ends with their reset, so that they do not affect the text after it.
    """
    if "\x1b" not in text:
        return text.translate(_HOSTILE)
    parts = _COLOURS.split(text)
    parts[::2] = [part.translate(_HOSTILE) for part in parts[::2]]
    return "".join(parts) + (_RESET if len(parts) > 1 and text[-len(_RESET):] != _RESET else "")
