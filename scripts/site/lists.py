"""Writes lists of Markdown as Python-Markdown reads them; the pages are written as GitHub reads them."""
from __future__ import annotations

import re

ITEM = re.compile(r"(?P<marker>[-*+]|\d+[.)])(?P<space> +)(?=\S)")


def indented(markdown: str) -> str:
    """Returns the text with four blanks for each level of a list, and a blank line above each list."""
    out: list[str] = []
    offsets: list[int] = []  # where the content of each open item begins
    fence, blank, in_paragraph = None, True, False
    for line in markdown.split("\n"):
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if fence is not None:
            out.append(" " * max(0, 4 * len(offsets) + indent - fence) + text if text else "")
            if text.rstrip() == "```":
                fence = None
            continue
        if not text:
            out.append("")
            blank, in_paragraph = True, False
            continue
        item = ITEM.match(text)
        continues = in_paragraph and (not offsets or indent >= offsets[-1])
        if continues and item and item["marker"][0].isdigit() and item["marker"][:-1] != "1":
            item = None  # a number of the sentence
        if blank or item or text.startswith("```"):
            while offsets and indent < offsets[-1]:
                offsets.pop()
        if text.startswith("```"):
            fence = offsets[-1] if offsets else indent
            out.append("    " * len(offsets) + " " * max(0, indent - fence) + text)
            in_paragraph = False
        elif item and indent < (offsets[-1] if offsets else 0) + 4:
            if continues and not offsets:
                out.append("")
            out.append("    " * len(offsets) + item["marker"] + " " + text[item.end():])
            offsets.append(indent + item.end())
            in_paragraph = True
        else:
            rest = max(0, indent - offsets[-1]) if offsets else indent
            # A number of the sentence must not look like an item when the line is indented.
            out.append("    " * len(offsets) + " " * rest + re.sub(r"^(\d+)([.)]) ", r"\1\\\2 ", text))
            in_paragraph = not text.startswith(("#", "|", "<", ">"))
        blank = False
    return "\n".join(out)
