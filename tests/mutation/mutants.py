"""Mutants: deliberate bugs, and how they are applied to a copy of the source tree.

The files in mutants/ list them. Each is one textual change of one file. A C++ change contains the word MUTANT, which
becomes a comparison with the number of the mutant that the environment variable MUTANT selects. One build therefore
contains all C++ mutants. A Python change replaces the text only while its mutant is tested.
"""
from __future__ import annotations

import collections
import dataclasses
import hashlib
import pathlib
import re
import subprocess
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SWITCH = "mutation_switch.hpp"
SWITCH_TEXT = """#pragma once
#include <cstdlib>

namespace mutation {

inline int const active = [] {
  char const* number = std::getenv("MUTANT");
  return number ? std::atoi(number) : 0;
}();

}  // namespace mutation
"""
SIMULATORS = ("simulate", "coordination_simulate", "event_fuzz")


class BadMutant(Exception):
    """The mutants cannot be tested. The message contains the reason."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One entry of a file in mutants/."""

    number: int
    """Position in the list of all mutants, from 1. Selects the mutant at run time."""
    name: str
    what: str
    """The bug, as a sentence."""
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]
    """Programs of C++ tests as NAME or NAME:FILTER, or files and tests of pytest below python/tests, cheapest first."""
    simulators: tuple[str, ...] = ()
    store: str = "local"
    """The store of the robustness run."""

    @property
    def is_python(self) -> bool:
        return self.file.endswith(".py")

    @property
    def digest(self) -> str:
        """A digest of the change and of its tests, without its description: if it differs, earlier results do not apply."""
        return hashlib.sha256(repr((self.file, self.find, self.replace, self.tests, self.simulators, self.store)).encode()).hexdigest()[:12]


def load(folder: pathlib.Path = HERE / "mutants") -> list[Mutant]:
    """Returns all mutants. Raises BadMutant if an entry has unknown or missing members, or if two have one name."""
    all_mutants: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", []):
            name = entry.get("name", f"an entry of {path.name}")
            for key in ("tests", "simulators"):
                entry[key] = tuple(entry.get(key, ()))
            try:
                all_mutants.append(Mutant(len(all_mutants) + 1, **entry))
            except TypeError as error:
                raise BadMutant(f"{name}: {error}") from None
    repeated = [name for name, count in collections.Counter(m.name for m in all_mutants).items() if count > 1]
    if repeated:
        raise BadMutant(f"{repeated[0]}: two mutants have this name")
    for m in all_mutants:
        unknown = set(m.simulators) - set(SIMULATORS)
        if unknown or not m.tests:
            raise BadMutant(f"{m.name}: " + (f"there is no simulator {unknown.pop()!r}" if unknown else "it names no test"))
        if not m.is_python and not re.search(r"\bMUTANT\b", m.replace):
            raise BadMutant(f"{m.name}: the replacement does not contain MUTANT")
    return all_mutants


def place(m: Mutant, text: str) -> int:
    """Returns the position of the mutant's text in its file. Raises BadMutant unless the text occurs exactly once."""
    count = text.count(m.find)
    if count != 1:
        raise BadMutant(f"{m.name}: {m.file} contains its text {count} times; it must occur once")
    return text.index(m.find)


def with_mutants(text: str, of_file: list[Mutant]) -> str:
    """Returns the text of a C++ file with all of its mutants. Raises BadMutant if the places of two mutants overlap."""
    places = sorted((place(m, text), m) for m in of_file)
    made, end = [], 0
    for at, m in places:
        if at < end:
            raise BadMutant(f"{m.name}: its text overlaps that of another mutant")
        switch = f"(::mutation::active == {m.number})"
        made += [text[end:at], re.sub(r"\bMUTANT\b", switch, m.replace)]
        end = at + len(m.find)
    return f'#include "{SWITCH}"\n' + "".join(made) + text[end:]


def check(all_mutants: list[Mutant], root: pathlib.Path = ROOT) -> None:
    """Raises BadMutant if a mutant cannot be applied to the tree, or if one of its test programs or test files does not exist."""
    programs = set(re.findall(r"muster_(?:program_)?test\((\w+)", "".join(p.read_text() for p in root.glob("tests/**/CMakeLists.txt"))))
    for file, of_file in by_file(all_mutants).items():
        if not (root / file).is_file():
            raise BadMutant(f"{of_file[0].name}: there is no file {file}")
        text = (root / file).read_text(encoding="utf-8")
        if file.endswith(".py"):
            for m in of_file:
                compile(text.replace(text[(at := place(m, text)):at + len(m.find)], m.replace), file, "exec")
        else:
            with_mutants(text, of_file)
    for m in all_mutants:
        for test in m.tests:
            exists = (root / "python/tests" / test.split("::")[0]).is_file() if m.is_python else test.split(":")[0] in programs
            if not exists:
                raise BadMutant(f"{m.name}: there is no test {test!r}")


def by_file(all_mutants: list[Mutant]) -> dict[str, list[Mutant]]:
    files: dict[str, list[Mutant]] = {}
    for m in all_mutants:
        files.setdefault(m.file, []).append(m)
    return files


def copy_tree(tree: pathlib.Path, all_mutants: list[Mutant]) -> None:
    """Makes or updates a copy of the tree with all C++ mutants. Files that stay equal keep their times, so that only
    changed files are compiled again."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    changed = by_file([m for m in all_mutants if not m.is_python])
    for name in sorted(files):
        content = (ROOT / name).read_bytes()
        if name in changed:
            content = with_mutants(content.decode(), changed[name]).encode()
        _write(tree / name, content, (ROOT / name).stat().st_mode)
    _write(tree / SWITCH, SWITCH_TEXT.encode(), 0o644)
    files |= {SWITCH}
    known = tree.parent / "files.txt"
    if known.is_file():
        for name in set(known.read_text().splitlines()) - files:
            (tree / name).unlink(missing_ok=True)
    known.write_text("\n".join(sorted(files)))


def _write(path: pathlib.Path, content: bytes, mode: int) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode & 0o777)
