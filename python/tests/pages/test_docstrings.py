"""Each public name of the package has a docstring, with Args and Returns where it has them.

The names that do not have one yet are listed in undocumented.txt. Nothing may be added there.
"""
from __future__ import annotations

import inspect
import pathlib
import re
from typing import Any, Iterator

import muster

LIST = pathlib.Path(__file__).with_name("undocumented.txt")


def members() -> Iterator[tuple[str, Any]]:
    """Yields each public class and function, and the public functions of each class, inherited ones as well."""
    for name in muster.__all__:
        value = getattr(muster, name)
        yield name, value
        if inspect.isclass(value):
            for member, function in inspect.getmembers(value, callable):
                function = getattr(function, "__func__", function)
                if not member.startswith("_") and inspect.isfunction(function) and function.__module__.startswith("muster"):
                    yield f"{name}.{member}", function


def faults_of(value: Any) -> list[str]:
    """Returns what the docstring of a class or function lacks. A class is judged by its docstring alone."""
    text = inspect.cleandoc(value.__doc__ or "")
    if not text or text.startswith(f"{getattr(value, '__name__', '')}("):  # made by dataclasses or NamedTuple
        return ["docstring"]
    if not inspect.isfunction(value):
        return []
    signature = inspect.signature(value)
    section = re.search(r"^Args:\n((?:[ ]+.*\n?|\n)*)", text, re.M)
    described = re.findall(r"^ +\*{0,2}(\w+)", section[1], re.M) if section else []
    faults = [name for name in signature.parameters if name not in ("self", "cls", *described)]
    returned = str(signature.return_annotation)
    if returned not in ("None", "NoReturn", str(signature.empty)) and not re.search(r"^(?:Returns|Yields):|^Returns? ", text, re.M):
        faults.append("Returns")
    return faults


def test_public_names_have_docstrings_with_sections() -> None:
    listed = set(LIST.read_text().split())
    faults = {name: of for name, value in members() if (of := faults_of(value))}
    assert {name: of for name, of in faults.items() if name not in listed} == {}, "write the docstrings in Google style"
    assert sorted(listed - set(faults)) == [], f"these have docstrings now: take them out of {LIST.name}"
