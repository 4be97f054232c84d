"""Each flag of each command is on a page of docs/, and each command is on the page of the command line."""
from __future__ import annotations

import pathlib
import re
import subprocess

import pytest

from conftest import binary

TOP = pathlib.Path(__file__).parents[3]
DOCS = TOP / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="only beside the pages")
NO_WORK = ("help", "bench")
"""Commands without flags of their own; benchmarks are described in bench/README.md."""


def help_of(*words: str) -> str:
    help_flag = "--help-all" if words == ("serve",) else "--help"
    return subprocess.run([binary(), *words, help_flag], capture_output=True, text=True, check=True, timeout=60).stdout


def verbs() -> list[str]:
    found = re.findall(r"^  ([a-z][a-z-]+)  +\S", help_of(), re.M)
    return [verb for verb in found if verb not in NO_WORK]


def flags(verb: str) -> set[str]:
    return set(re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]*)", help_of(verb), re.M))


def test_every_flag_is_on_a_page() -> None:
    pages = "\n".join(page.read_text() for page in [TOP / "README.md", *DOCS.glob("*.md")])
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", pages)) | {"--help"}
    missing = {verb: sorted(flags(verb) - named) for verb in verbs()}
    assert not {verb: of for verb, of in missing.items() if of}


def test_every_command_is_on_the_page_of_the_command_line() -> None:
    page = (DOCS / "command-line.md").read_text()
    table = page[:page.index("## Jobs")]
    assert len(verbs()) > 30
    assert [verb for verb in verbs() if not re.search(rf"`{verb}[ `]", table)] == []
