"""Imports between the modules of the package: no cycles, and lower parts do not import higher ones."""
from __future__ import annotations

import ast
import pathlib

import pytest

import muster

FOLDER = pathlib.Path(muster.__file__).parent
PARTS = ("_wire", "_pickled", "_shared", "objects", "variables", "worker", "coordinator", "rest", "agent", "distribute", "local",
         "torchrun")
"""Lower parts first."""
UPWARD = {("objects", "worker"), ("objects", "coordinator"), ("variables", "coordinator")}
"""`Context` and `RemoteValue` are defined in higher parts: pickles name their modules."""


def module_of(path: pathlib.Path, folder: pathlib.Path) -> str:
    return ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")


def imports_of(folder: pathlib.Path) -> dict[str, set[str]]:
    """Returns the modules that each module of a package imports, also in functions and for type checkers only. The package
    itself is omitted, because it loads names on first use."""
    modules = {module_of(path, folder): ast.parse(path.read_text()) for path in folder.rglob("*.py")}
    del modules[folder.name]
    found: dict[str, set[str]] = {}
    for module, tree in modules.items():
        named: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                named.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module, f"{module}, line {node.lineno}: a relative import"
                named.update(name if (name := f"{node.module}.{alias.name}") in modules else node.module
                             for alias in node.names)
        found[module] = named & modules.keys() - {module}
    return found


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Returns the groups of modules that import each other, directly or through others."""
    reached = {module: {module} for module in imports}
    while True:
        wider = {module: seen.union(*(imports[one] for one in seen)) for module, seen in reached.items()}
        if wider == reached:
            break
        reached = wider
    groups = {frozenset(one for one in seen if module in reached[one]) for module, seen in reached.items()}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def test_modules_have_no_import_cycles() -> None:
    imports = imports_of(FOLDER)
    assert len(imports) > 100
    assert circles(imports) == []


def test_lower_parts_do_not_import_higher_ones() -> None:
    arrows = {(of[1], to[1]) for module, named in imports_of(FOLDER).items() for other in named
              if len(of := module.split(".")) > 2 and len(to := other.split(".")) > 2}
    assert {part for arrow in arrows for part in arrow} == set(PARTS)
    assert {(of, to) for of, to in arrows if PARTS.index(of) < PARTS.index(to)} == UPWARD


@pytest.mark.parametrize("line", ["import p.a", "def f():\n  from p import a", "if TYPE_CHECKING:\n  from p.a import x"])
def test_import_cycles_are_found(tmp_path: pathlib.Path, line: str) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    for name, text in (("__init__", ""), ("a", "from p.b import x"), ("b", "from p import c"), ("c", line), ("d", "import p.a")):
        (folder / f"{name}.py").write_text(text)
    assert circles(imports_of(folder)) == [["p.a", "p.b", "p.c"]]
