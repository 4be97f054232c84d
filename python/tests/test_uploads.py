"""The client's own modules on workers that do not have them."""
from __future__ import annotations

import dataclasses
import importlib
import io
import os
import pathlib
import sys
import types
import zipfile
from typing import Any, Iterator

import joblib
import pytest

import muster
import muster.joblib
from conftest import Cluster
from muster._pickled import uploads as zipped
from muster.coordinator.objects import SessionObjects
from muster.worker import uploads as unpacked


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: Any) -> Iterator[pathlib.Path]:
    """A folder from which only the client imports. Its modules are forgotten after the test."""
    folder = tmp_path / "client"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    forget(folder)


def forget(folder: pathlib.Path) -> None:
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or str(getattr(module, "__path__", ""))
        if str(folder) in file:
            del sys.modules[name]
    importlib.invalidate_caches()


def write(folder: pathlib.Path, **files: str) -> None:
    for name, text in files.items():
        path = folder.joinpath(*name.split("__"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(path.name + ".py").write_text(text)


def package(folder: pathlib.Path) -> None:
    write(folder, outer__init="", outer__inner__deep="from outer.other import SHIFT\n"
          "def f(x):\n    return x + SHIFT\n", outer__other="SHIFT = 100\n")
    (folder / "outer" / "init.py").rename(folder / "outer" / "__init__.py")
    (folder / "outer" / "inner" / "__init__.py").write_text("")
    (folder / "outer" / "table.txt").write_text("data")


def test_uploaded_module_is_imported(cluster: Cluster, here: pathlib.Path) -> None:
    write(here, sent_one="def f(x):\n    return x * 3\n")
    module = importlib.import_module("sent_one")
    c = cluster.coordinator(upload=[module])
    assert c.schedule(module.f, args=(2,)).fetch(20) == 6
    assert list(c.map(module.f, range(600))) == [3 * x for x in range(600)]
    assert c.fetch(c.schedule_many(module.f, [(i,) for i in range(9)])) == list(range(0, 27, 3))
    first = c.schedule(module.f, args=(1,))
    assert c.schedule(module.f, args=(first,)).fetch(20) == 9
    kept = c.create_per_worker_value(module.f, args=(5,))
    assert c.schedule(lambda k, x: k + x, args=(kept, 1)).fetch(20) == 16


def test_executor_uploads_modules_for_all_calls(cluster: Cluster, here: pathlib.Path) -> None:
    write(here, sent_by_executor="def f(x):\n    return x * 3\n")
    module = importlib.import_module("sent_by_executor")
    with muster.Executor(cluster.server.grpc, upload=[module]) as executor:
        assert executor.submit(module.f, 2).result(20) == 6
        assert list(executor.map(module.f, range(3))) == [0, 3, 6]


def test_joblib_uploads_modules_for_all_calls(cluster: Cluster, here: pathlib.Path) -> None:
    write(here, sent_by_joblib="def f(x):\n    return x * 3\n")
    module = importlib.import_module("sent_by_joblib")
    with joblib.parallel_config(backend="muster", server=cluster.server.grpc, upload=[module]):
        assert joblib.Parallel(n_jobs=2)(joblib.delayed(module.f)(i) for i in range(3)) == [0, 3, 6]


def test_nested_packages_are_uploaded_with_their_files(cluster: Cluster, here: pathlib.Path) -> None:
    package(here)
    deep = importlib.import_module("outer.inner.deep")

    def table() -> str:
        import pathlib

        import outer  # type: ignore[import-not-found]

        return pathlib.Path(outer.__file__).with_name("table.txt").read_text()

    c = cluster.coordinator()
    for upload in ([deep], [here / "outer"], [str(here)]):
        with_it = c.options(upload=upload)
        assert with_it.schedule(deep.f, args=(1,)).fetch(20) == 101
        assert with_it.schedule(table).fetch(20) == "data"


def test_edited_module_is_uploaded_again(cluster: Cluster, here: pathlib.Path) -> None:
    """Sessions at the same time have their own versions on the same worker."""
    sessions = []
    for text in ("VERSION = 1\ndef f():\n    return VERSION\n",
                 "VERSION = 22\ndef f():\n    return VERSION\n"):
        write(here, edited=text)
        module = importlib.import_module("edited")
        sessions.append((cluster.coordinator(upload=[module]).options(task="worker:0"), module.f))
        forget(here)
        sys.modules["edited"] = module
        sessions[-1][0].schedule(module.f).fetch(20)
    for _ in range(2):
        assert [fetched(c, f) for c, f in sessions] == [1, 22]


def fetched(c: Any, f: Any) -> Any:
    sys.modules["edited"] = types.ModuleType("edited")  # so that its function is pickled by name
    sys.modules["edited"].f = f  # type: ignore[attr-defined]
    return c.schedule(f).fetch(20)


def test_missing_upload_is_named(cluster: Cluster, here: pathlib.Path) -> None:
    write(here, not_sent="def f():\n    return 1\n")
    module = importlib.import_module("not_sent")
    c = cluster.coordinator(continue_on_error=True)
    with pytest.raises(muster.InputError, match=r"no module 'not_sent'.*upload=\[not_sent\]"):
        c.schedule(module.f).fetch(20)
    assert c.options(upload=[module]).schedule(module.f).fetch(20) == 1
    with pytest.raises(muster.InputError, match="no module 'not_sent'"):
        c.options(task="worker:0").schedule(module.f).fetch(20)  # the upload belongs to the other calls only


def test_restarted_process_gets_the_upload_again(make_cluster: Any, here: pathlib.Path) -> None:
    write(here, sent_again="import os\ndef f(once):\n    import muster\n"
          "    if once and muster.context().attempt == 1:\n        os._exit(3)\n    return os.getpid()\n")
    module = importlib.import_module("sent_again")
    cluster = make_cluster()
    cluster.add("--processes", "1")
    c = cluster.coordinator(upload=[here / "sent_again.py"])
    before = c.schedule(module.f, args=(False,)).fetch(20)
    assert c.schedule(module.f, args=(True,)).fetch(20) != before


WAITS = """
import os, time
import muster

class Made:
    pass

def waits(server, other, slow, mark):
    with muster.ClusterCoordinator(server) as c:
        assert c.submit(abs, -1).fetch(20) == 1  # it runs beside this, without uploads
        import lately_1
        value = c.options(upload=[other]).submit(slow, mark)
        while not os.path.exists(mark):
            try:
                value.fetch(0.1)
            except muster.WaitTimeout:
                pass
        import lately_2
        open(mark + ".go", "w").close()
        while not value.done():  # which gives no slot back
            time.sleep(0.01)
        import lately_3
        return Made(), bytes(value._record.raw), lately_1.X + lately_2.X + lately_3.X
"""
OTHER = """
class Made:
    pass
"""


def test_waiting_and_running_closures_have_their_own_uploads(make_cluster: Any, here: pathlib.Path) -> None:
    write(here, waits_one=WAITS, other_one=OTHER, **{f"lately_{i}": f"X = {i}\n" for i in (1, 2, 3)})
    module = importlib.import_module("waits_one")

    def slow(mark: str) -> Any:
        import os
        import time

        import other_one  # type: ignore[import-not-found]

        open(mark, "w").close()
        while not os.path.exists(mark + ".go"):
            time.sleep(0.01)
        return other_one.Made()

    cluster = make_cluster()
    cluster.add("--processes", "1")
    files = [here / f"{name}.py" for name in ("waits_one", "lately_1", "lately_2", "lately_3")]
    with cluster.coordinator(upload=files) as c:
        made, other, total = c.submit(module.waits, cluster.server.grpc, str(here / "other_one.py"), slow,
                                       str(here / "mark")).fetch(30)
        assert isinstance(made, module.Made) and total == 6
        assert b"other_one" in other and b"skeleton" not in other, "the class is pickled as a name of the module"


def test_zip_depends_only_on_the_contents(here: pathlib.Path) -> None:
    package(here)
    made = zipped.collect([here / "outer"])
    os.utime(here / "outer" / "other.py", (1, 1))
    (here / "outer" / "__pycache__").mkdir()
    (here / "outer" / "__pycache__" / "other.cpython-311.pyc").write_bytes(b"x")
    (here / "outer" / ".hidden").write_bytes(b"x")
    assert zipped.collect([here / "outer"]) == made
    write(here, outer__other="SHIFT = 101\n")
    assert zipped.collect([here / "outer"]).digest != made.digest


def test_invalid_uploads_are_refused(here: pathlib.Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(zipped, "UPLOAD_BYTES_MAX", 1000)
    (here / "large.py").write_bytes(os.urandom(5000))
    with pytest.raises(ValueError, match="as a zip, the limit is 1000: leave data out"):
        zipped.collect([here / "large.py"])
    monkeypatch.setattr(zipped, "CONTENT_BYTES_MAX", 4000)
    with pytest.raises(ValueError, match="more than 4000 bytes"):
        zipped.collect([here])
    monkeypatch.setattr(zipped, "FILES_MAX", 0)
    with pytest.raises(ValueError, match="more than 0 files"):
        zipped.collect([here])
    for wrong, kind in ((here / "none.py", FileNotFoundError), (3, TypeError), (sys, TypeError)):
        with pytest.raises(kind):
            zipped.collect([wrong])  # type: ignore[list-item]


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: Any) -> pathlib.Path:
    """Returns the folder in which this process installs uploads."""
    made = tmp_path / "uploads"
    made.mkdir()
    monkeypatch.setattr(unpacked, "_folder", str(made))
    return made


def zip_of(**files: bytes) -> bytes:
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return to.getvalue()


def folders(folder: pathlib.Path) -> list[pathlib.Path]:
    return [path for path in folder.iterdir() if path.is_dir()]


def test_upload_must_match_its_digest(here: pathlib.Path, folder: pathlib.Path, monkeypatch: Any) -> None:
    write(here, good="X = 1\n")
    good = zipped.collect([here / "good.py"])
    for wrong in (zip_of(**{"good.py": b"X = 2\n"}), zip_of(**{"other.py": b"X = 1\n"}),
                  zip_of(**{"good.py": b"X = 1\n", "more.py": b""}), zip_of()):
        with pytest.raises(ValueError, match=f"the upload {good.digest} does not match its contents"):
            unpacked.install(good.digest, wrong)
    for name in ("../out.py", "/tmp/out.py", "a/../../out.py", "folder/"):
        with pytest.raises(ValueError, match="contains an invalid file name"):
            unpacked.install(good.digest, zip_of(**{name: b"X = 1\n"}))
    for digest in ("../" + good.digest[3:], good.digest[1:], good.digest.upper() + "x"):
        with pytest.raises(ValueError, match="not a SHA-256"):
            unpacked.install(digest, good.data)
    assert folders(folder) == []
    with pytest.raises(zipfile.BadZipFile):
        unpacked.install(good.digest, b"no zip")
    monkeypatch.setattr(zipped, "CONTENT_BYTES_MAX", 1 << 20)
    with pytest.raises(ValueError, match="more than 1048576 bytes"):
        unpacked.install(good.digest, zip_of(**{"large.py": bytes(1 << 21)}))
    monkeypatch.setattr(zipped, "FILES_MAX", 1)
    with pytest.raises(ValueError, match="has 2 files, the limit is 1"):
        unpacked.install(good.digest, zip_of(a=b"", b=b""))
    assert folders(folder) == []
    assert (pathlib.Path(unpacked.install(good.digest, good.data).place) / "good.py").read_text() == "X = 1\n"


def test_client_with_a_wrong_digest_gets_an_error(cluster: Cluster, here: pathlib.Path, monkeypatch: Any) -> None:
    write(here, forged="def f():\n    return 1\n")
    module = importlib.import_module("forged")
    collect = zipped.collect
    from muster.coordinator import cluster_coordinator

    monkeypatch.setattr(cluster_coordinator, "collect", lambda what: zipped.Upload(
        "0" * 64, *dataclasses.astuple(collect(what))[1:]))
    with cluster.coordinator(upload=[module], continue_on_error=True) as c:
        with pytest.raises(muster.InputError, match="does not match its contents"):
            c.schedule(module.f).fetch(20)


def test_large_upload_is_sent_once_for_several_objects(cluster: Cluster, here: pathlib.Path,
                                                       monkeypatch: Any) -> None:
    write(here, thing_of_much="import much\n\n\nclass Thing:\n    def answer(self):\n        return much.X\n")
    (here / "much").mkdir()
    (here / "much" / "__init__.py").write_text("X = 5\n")
    (here / "much" / "data").write_bytes(os.urandom(2 << 20))
    module = importlib.import_module("thing_of_much")
    sizes: list[int] = []
    make = SessionObjects.make

    def measured(self: Any, words: Any, function: str, args: bytes, encoding: int) -> Any:
        sizes.append(len(args))
        return make(self, words, function, args, encoding)

    monkeypatch.setattr(SessionObjects, "make", measured)
    with cluster.coordinator(upload=[module, here / "much"]) as c:
        made = [c.create(module.Thing, task=f"worker:{i % 2}") for i in range(3)]
        made.append(c.create(module.Thing, task="worker:0", name="outlives", detached=True))
        assert [thing.answer().fetch(20) for thing in made] == [5] * 4
        made[-1].delete()
    assert max(sizes[:3]) < 10_000 and sizes[3] > 2 << 20, "blobs end with their session, so a detached object contains its upload"


def test_worker_keeps_a_limited_number_of_uploads_and_those_in_use(here: pathlib.Path, folder: pathlib.Path,
                                                                   monkeypatch: Any) -> None:
    monkeypatch.setattr(unpacked, "UPLOADS_MAX", 2)
    held = []
    for i in range(5):
        write(here, limited=f"X = {i}\n")
        upload = zipped.collect([here / "limited.py"])
        held.append(unpacked.install(upload.digest, upload.data))
        os.utime(held[-1].place, (i, i))
    assert held[-1] is unpacked.install(upload.digest, upload.data)
    assert all(os.path.isdir(one.place) for one in held)
    places = [one.place for one in held]
    del held[:-1]
    write(here, limited="X = 'last'\n")
    upload = zipped.collect([here / "limited.py"])
    last = unpacked.install(upload.digest, upload.data)
    assert [p for p in places if os.path.isdir(p)] == [held[0].place]
    unpacked.activate([last])
    assert importlib.import_module("limited").X == "last"
    unpacked.activate([held[0]])
    assert importlib.import_module("limited").X == 4
    unpacked.activate([])
    assert "limited" not in sys.modules and not unpacked._active
