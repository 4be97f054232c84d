"""Turns the man pages of `muster man --dir` (cli/tree/manual.cpp) into Markdown."""
from __future__ import annotations

import html
import re
from typing import Iterator

NAMED = {"(aq": "'", "(ga": "`", "(ha": "^", "(ti": "~", "e": "\\", "-": "-", "&": "", "fB": "", "fI": "", "fR": ""}
ESCAPE = re.compile(r"\\(\[u([0-9A-F]+)\]|\(..|f[BIR]|.)")
LEFT_OUT = ("SEE ALSO",)


def plain(roff: str) -> str:
    """Returns the characters of a line, without fonts."""
    return ESCAPE.sub(lambda m: chr(int(m[2], 16)) if m[2] else NAMED[m[1]], roff)


def escaped(text: str) -> str:
    """Returns text as Markdown that shows it as it is."""
    return re.sub(r"([\\`*_\[\]{}#|])", r"\\\1", html.escape(text, quote=False))


def term_of(term: str) -> str:
    """Returns the head of an entry: a link for another page, code for an option."""
    page = re.fullmatch(r"(muster(?:-\S+)?)\(1\)", term)
    return f"[`{page[1].replace('-', ' ', 1)}`]({page[1]}.md)" if page else f"`{term}`"


def lines_of(section: str, body: list[str]) -> Iterator[str]:
    """Yields Markdown of the lines of one section."""
    lines = iter(body)
    for line in lines:
        if line.startswith(".SS "):
            yield f"\n### {escaped(plain(line[4:]))}\n"
        elif line == ".TP":
            yield f"\n{term_of(plain(next(lines)))}\n:   {escaped(plain(next(lines)))}\n"
        elif line == ".nf":
            yield "\n```text"
            for inner in lines:
                if inner == ".fi":
                    break
                yield "" if inner == ".sp" else plain(inner)
            yield "```\n"
        elif section == "SYNOPSIS":
            yield f"\n```text\n{plain(line)}\n```\n"
        else:
            yield escaped(plain(line))


def markdown(page: str) -> str:
    """Returns a page of the site. The first section is NAME, whose line is `muster-serve \\- what it does`."""
    sections = [part.split("\n") for part in re.split(r"^\.SH ", page, flags=re.M)[1:]]
    name, about = plain(sections[0][1]).split(" - ", 1)
    out = [f"# {name.replace('-', ' ', 1)}\n", escaped(about) + ".\n"]
    for title, *body in sections[1:]:
        if title not in LEFT_OUT and any(body):
            out += [f"\n## {title.capitalize()}\n", *lines_of(title, [line for line in body if line])]
    return "\n".join(out) + "\n"
