"""Packs a code directory into an archive for programs, as `muster launch --upload` does.

docs/programs.md describes the rules and limits. Identical files result in identical archives as long as the versions of
Python and zlib do not change. The archive that the command line creates has different bytes.
"""
from __future__ import annotations

import builtins
import functools
import gzip
import hashlib
import io
import logging
import os
import pathlib
import re
import stat
import tarfile
from typing import Iterator, NamedTuple, Sequence

from muster._bounded_file import read_bounded_file

BYTES_MAX = 512 << 20
ENTRIES_MAX = 100_000
NAMED = 5
"""Number of largest files that the error message lists."""

SECRETS = (".key", ".pem", ".token")
"""Suffixes of the names of files that are probably secret."""

log = logging.getLogger("muster.rest")
TIME_OF_ALL = 315_532_800  # 1980-01-01, the earliest time that zip files can store
COMPRESSION = 6


class Rule(NamedTuple):
    below: tuple[str, ...]    # the directory of its file
    pattern: tuple[str, ...]  # "**": any number of names
    ignores: bool
    directories_only: bool


def rules(below: tuple[str, ...], text: str) -> Iterator[Rule]:
    """Yields the rules of a .gitignore file in the directory `below`."""
    for line in text.split("\n"):
        line = re.sub(r"(?<!\\) +$", "", line[:-1] if line.endswith("\r") else line)
        if not line or line.startswith("#"):
            continue
        ignores = not line.startswith("!")
        line = line if ignores else line[1:]
        directories_only = line.endswith("/")
        line = line[:-1] if directories_only else line
        names = [name for name in line.split("/") if name]
        if not names:
            continue
        if "/" not in line and names != ["**"]:
            names.insert(0, "**")
        yield Rule(below, tuple(names), ignores, directories_only)


def ignored(known: Sequence[Rule], path: tuple[str, ...], is_directory: bool) -> bool:
    """Returns whether a path is ignored. The last rule that matches the path applies."""
    for rule in reversed(known):
        depth = len(rule.below)
        if rule.directories_only and not is_directory:
            continue
        if len(path) > depth and path[:depth] == rule.below and _matches(rule.pattern, path[depth:]):
            return rule.ignores
    return False


def _matches(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(path)
        return any(_matches(pattern[1:], path[i:]) for i in range(len(path)))
    return bool(path) and _name_matches(path[0], pattern[0]) and _matches(pattern[1:], path[1:])


def _name_matches(name: str, pattern: str) -> bool:
    return _compiled(pattern).fullmatch(name) is not None


CLASSES = {"digit": "0-9", "alpha": "a-zA-Z", "alnum": "0-9a-zA-Z", "upper": "A-Z", "lower": "a-z",
           "space": r"\s", "blank": r" \t", "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~"}
IN_BRACKETS = r"\\.|\[:\w+:\]|\[(?!:\w+:\])|[^][\\]"
BRACKETS = re.compile(rf"([!^]?)((?:\]|{IN_BRACKETS})(?:{IN_BRACKETS})*)\]", re.DOTALL)
NOTHING = "(?!)"


@functools.lru_cache(1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern with the syntax of fnmatch(3). Python's fnmatch supports neither backslashes nor ``[^a]`` and
    ``[[:digit:]]``.
    """
    made, at = "", 0
    while at < len(pattern):
        found = BRACKETS.match(pattern, at + 1) if pattern[at] == "[" else None
        if found:
            made += _set_of(found[2], "^" if found[1] else "")
            at = found.end()
            continue
        if pattern[at] == "\\":
            at += 1
            made += re.escape(pattern[at]) if at < len(pattern) else NOTHING
        else:
            made += {"*": ".*", "?": "."}.get(pattern[at], re.escape(pattern[at]))
        at += 1
    return re.compile(made, re.DOTALL)


def _set_of(inside: str, negated: str) -> str:
    """Translates a bracket expression of fnmatch(3) to the syntax of `re`."""
    words = re.findall(r"\[:\w+:\]|\\.|.", inside, re.DOTALL)
    made, at = "", 0
    while at < len(words):
        if words[at].startswith("[:"):
            if words[at][2:-2] not in CLASSES:
                return NOTHING
            made += CLASSES[words[at][2:-2]]
        elif at + 2 < len(words) and words[at + 1] == "-" and not words[at + 2].startswith("[:"):
            first, last = words[at][-1], words[at + 2][-1]
            made += f"{re.escape(first)}-{re.escape(last)}" if first <= last else ""
            at += 2
        else:
            made += re.escape(words[at][-1])
        at += 1
    return f"[{negated}{made}]" if made else NOTHING if not negated else "."


class Item(NamedTuple):
    path: str
    at: pathlib.Path
    about: os.stat_result


class Lister:
    """Lists the files of the archive, in order. Raises ValueError with a message for the user."""

    def __init__(self, root: pathlib.Path) -> None:
        self._root = root
        self._name = ".musterignore" if (root / ".musterignore").exists() else ".gitignore"
        self._items: list[Item] = []

    def list(self) -> builtins.list[Item]:
        self._walk((), [])
        files = [i for i in self._items if stat.S_ISREG(i.about.st_mode)]
        size = sum(i.about.st_size for i in files)
        if size > BYTES_MAX:
            largest = sorted(files, key=lambda i: -i.about.st_size)[:NAMED]
            raise ValueError(f"{_in_words(size)} of files exceeds the limit of {_in_words(BYTES_MAX)}; list files to "
                             f"exclude in .musterignore. The largest files:" + "".join(
                                 f"\n  {_in_words(i.about.st_size)}  {i.path}" for i in largest))
        return self._items

    def _walk(self, directory: tuple[str, ...], known: builtins.list[Rule]) -> None:
        here = self._root.joinpath(*directory)
        file = here / self._name
        if file.exists():
            known = [*known, *rules(directory, read_bounded_file(file).decode("utf-8", "surrogateescape"))]
        for name in sorted(os.listdir(here), key=os.fsencode):
            if name != ".git":
                self._look((*directory, name), known)

    def _look(self, path: tuple[str, ...], known: builtins.list[Rule]) -> None:
        at = self._root.joinpath(*path)
        about = at.lstat()
        is_directory = stat.S_ISDIR(about.st_mode)
        if ignored(known, path, is_directory):
            return
        if stat.S_ISLNK(about.st_mode):
            self._check_target("/".join(path), at)
        elif not is_directory and not stat.S_ISREG(about.st_mode):
            return
        if len(self._items) == ENTRIES_MAX:
            raise ValueError(f"the directory contains more than {ENTRIES_MAX} files and directories; list those to "
                             "exclude in .musterignore")
        self._items.append(Item("/".join(path), at, about))
        if is_directory:
            self._walk(path, known)

    def _check_target(self, path: str, at: pathlib.Path) -> None:
        target = os.readlink(at)
        by_name = os.path.normpath(os.path.join(os.path.dirname(path), target))
        real = os.path.realpath(at.parent / target)
        inside = os.path.commonpath([real, self._root]) == str(self._root)
        if os.path.isabs(target) or by_name.split("/")[0] == ".." or not inside:
            raise ValueError(f"'{path}' is a symbolic link to '{target}', which is outside the directory; exclude it "
                             "in .musterignore")


def pack(directory: str | os.PathLike[str]) -> bytes:
    """Returns a directory as a gzip-compressed tar archive.

    Raises ValueError if `directory` is not a directory, is too large, or contains a link to a path outside the
    directory. Raises OSError if `directory` cannot be read.
    """
    root = pathlib.Path(directory).resolve()
    if not root.is_dir():
        raise ValueError(f"'{directory}' is not a directory")
    items = Lister(root).list()
    _warn_of_secrets([i.path for i in items if _is_probably_secret(i)])
    made = io.BytesIO()
    with gzip.GzipFile("", "wb", COMPRESSION, made, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for item in items:
            _add(tar, item)
    return made.getvalue()


def _is_probably_secret(item: Item) -> bool:
    """Returns whether a file is readable only by its owner and has the name of a key or token."""
    mode = item.about.st_mode
    return stat.S_ISREG(mode) and not mode & (stat.S_IRGRP | stat.S_IROTH) and item.path.endswith(SECRETS)


def _warn_of_secrets(paths: Sequence[str]) -> None:
    if paths:
        more = f" and {len(paths) - 1} more files" if len(paths) > 2 else f" and {paths[1]}" if len(paths) == 2 else ""
        log.warning("the upload contains %s%s, readable only by you and probably secret; ranks can read the upload. To "
                    "exclude files, list them in .musterignore", paths[0], more)


def _add(tar: tarfile.TarFile, item: Item) -> None:
    entry = tarfile.TarInfo(item.path)
    entry.mtime = TIME_OF_ALL
    mode = item.about.st_mode
    entry.mode = 0o644 if stat.S_ISREG(mode) and not mode & stat.S_IXUSR else 0o755
    if stat.S_ISDIR(mode):
        entry.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(mode):
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(item.at)
    else:
        entry.size = item.about.st_size
        with item.at.open("rb") as content:
            tar.addfile(entry, content)
            if content.read(1):
                raise ValueError(f"'{item.path}' changed while it was being packed")
        return
    tar.addfile(entry)


def _in_words(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"


class Upload:
    """A packed directory, with the bytes of the archive and their SHA-256 hash, which identifies the archive."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.bytes = pack(directory)
        self.hash = hashlib.sha256(self.bytes).hexdigest()


def is_hash(upload: object) -> bool:
    return isinstance(upload, str) and re.fullmatch(r"[0-9a-f]{64}", upload) is not None
