"""Imports by functions while another thread unpickles."""
from __future__ import annotations

import pathlib
import sys
from typing import Any, Callable

import pytest

from conftest import Cluster, until

MakeCluster = Callable[..., Cluster]


@pytest.mark.parametrize("named_by", ["an argument", "a function"])
def test_package_is_imported_while_a_call_names_its_content(make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch,
                                                               named_by: str) -> None:
    """The case of numpy: `import numpy` runs while an array is unpickled, which imports numpy._core.numeric."""
    cluster = make_cluster()
    package = cluster.folder / "racing"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import os, pathlib, time\n"
        "if mark := os.environ.get('RACING'):\n"
        "    pathlib.Path(mark).touch()\n"
        "    time.sleep(0.5)\n"
        "from racing.deep.inner import Thing\n")
    (package / "deep" / "__init__.py").write_text("")
    (package / "deep" / "inner.py").write_text("class Thing:\n    x = 1\n")
    mark = cluster.folder / "begun"
    monkeypatch.setenv("RACING", str(mark))
    cluster.add("--threads", "2")
    monkeypatch.delenv("RACING")
    monkeypatch.syspath_prepend(str(cluster.folder))
    import racing.deep.inner as inner  # type: ignore[import-not-found]

    def imports() -> int:
        import racing

        found: int = racing.Thing.x
        return found

    def takes(thing: Any) -> int:
        found: int = thing.x
        return found

    def uses() -> int:
        found: int = inner.Thing.x
        return found

    try:
        c = cluster.coordinator()
        first = c.submit(imports)
        until(mark.exists, "it is being imported")
        second = c.submit(takes, inner.Thing()) if named_by == "an argument" else c.submit(uses)
        assert (first.fetch(20), second.fetch(20)) == (1, 1)
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "racing"]:
            del sys.modules[name]


def test_import_error_of_a_broken_module_is_reported(make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch,
                                                     tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    (cluster.folder / "broken_there.py").write_text("from os import nothing_such\n")
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "broken_there.py").write_text("def f(): return 1\n")
    cluster.add("--threads", "2")
    monkeypatch.syspath_prepend(str(tmp_path / "good"))
    import broken_there  # type: ignore[import-not-found]

    with pytest.raises(Exception, match="cannot import name 'nothing_such'"):
        cluster.coordinator().submit(broken_there.f).fetch(20)
    del sys.modules["broken_there"]
