"""Text of other processes cannot control the terminal that shows it."""
from __future__ import annotations

from types import SimpleNamespace

import pytest

from muster._neutral import neutral_text
from muster.coordinator import log_lines


@pytest.mark.parametrize("text, shown", [
    ("plain é€😀", "plain é€😀"),
    ("a\tb\nc", "a\tb\nc"),
    ("a\rb\x07c\x1b]0;title\x07", "a b c ]0;title "),
    ("\x9b31m\x7f", "\\u009b31m\\u007f"),
    ("\u202eevil\u2066\u200f\u061c", "\\u202eevil\\u2066\\u200f\\u061c"),
    ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
    ("\x1b[1;31mred\x1b[2J", "\x1b[1;31mred [2J\x1b[0m"),
])
def test_control_characters_are_replaced_and_colours_stay(text: str, shown: str) -> None:
    assert neutral_text(text) == shown


def test_line_of_a_worker_is_sanitized() -> None:
    line = SimpleNamespace(level=0, function="f\u202e", worker="worker:0", text="a\x9bb")
    assert log_lines._text(line).endswith("(f\\u202e worker:0) a\\u009bb")
