"""Exceptions of functions, as they come back: whole, with a traceback that can be read, and whatever their
class is without harm to the session."""
from __future__ import annotations

import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
from typing import Any, Callable

import pytest

import muster
from closures import bad
from conftest import HERE, Cluster, until
from muster import _failures
from muster._pickled import exceptions
from muster.errors import Failure, FailureKind, plain_error
from muster.worker import failures

MakeCluster = Callable[..., Cluster]


class Own(Exception):
    def __init__(self, code: int, *, hint: str) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.hint = hint
        self.message = "its own"
        self.kind = "its own, too"


class MadeOfTwo(Exception):
    def __new__(cls, a: Any, b: Any) -> MadeOfTwo:
        return super().__new__(cls)

    def __init__(self, a: Any, b: Any) -> None:
        self.pair = (a, b)


class Unwilling(Exception):
    """An exception whose methods all fail."""

    def __reduce__(self) -> Any:
        raise RuntimeError("no reduce")

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError("frozen")

    @property
    def message(self) -> str:
        raise RuntimeError("no message")


class Hidden(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise SystemExit("nobody looks at me")


class Tree(BaseException):
    pass


def broken_class() -> type:
    class Meta(type):
        def __call__(cls, *args: Any) -> Any:
            raise SystemExit("not made")

    class Broken(ValueError, metaclass=Meta):
        def __init_subclass__(cls) -> None:
            raise KeyError("no subclasses")

    return Broken


def raise_a(name: str) -> None:
    if name == "group":
        raise ExceptionGroup("several", [ValueError(1), OSError(2, "gone"), Own(3, hint="in it")])
    if name == "two":
        raise MadeOfTwo(1, {2})
    if name == "unwilling":
        raise Unwilling("x")
    if name == "hidden":
        raise Hidden("x")
    if name == "no subclasses":
        raise ValueError.__new__(broken_class())
    if name == "tree":
        raise Tree("of BaseException")
    if name == "exit":
        raise SystemExit(3)
    if name == "interrupt":
        raise KeyboardInterrupt
    if name == "generator":
        raise GeneratorExit
    if name == "stop":
        raise StopIteration(5)
    if name == "unicode":
        b"\xff".decode()
    raise Own(7, hint="try again")


CLASSES = ["two", "unwilling", "hidden", "no subclasses", "tree", "exit", "interrupt", "generator", "stop",
           "unicode", "own"] + (["group"] if sys.version_info >= (3, 11) else [])


@pytest.mark.parametrize("continue_on_error", [True, False])
def test_exception_of_any_class_does_not_end_the_session(cluster: Cluster, continue_on_error: bool) -> None:
    with cluster.coordinator(continue_on_error=continue_on_error) as c:
        for name in CLASSES:
            value = c.schedule(raise_a, args=(name,))
            with pytest.raises(muster.ClosureError) as caught:
                value.fetch(20)
            assert caught.value.kind is FailureKind.USER and caught.value.worker.startswith("worker:")
            assert "raise_a" in caught.value.remote_traceback, name
            if not continue_on_error:
                with pytest.raises(muster.ClosureError) as again:
                    c.join(20)
                assert type(again.value) is type(caught.value) and str(again.value) == str(caught.value)
            pickle.loads(pickle.dumps(caught.value))
        assert c.schedule(len, args=("abc",)).fetch(20) == 3
        assert len(c.failures()) == (len(CLASSES) if continue_on_error else 1)


def test_exception_in_a_callback_does_not_end_the_session(cluster: Cluster) -> None:
    gate = threading.Event()
    with cluster.coordinator() as c:
        value = c.schedule(time.sleep, args=(0.2,))

        def leave() -> None:
            gate.set()
            raise SystemExit(1)

        value.add_done_callback(leave)
        assert gate.wait(20) and c.schedule(len, args=("abc",)).fetch(20) == 3


def test_exceptions_of_any_class_are_returned_by_threads(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--threads", "2")
    with cluster.coordinator(continue_on_error=True) as c:
        for name in CLASSES:
            with pytest.raises(muster.ClosureError):
                c.schedule(raise_a, args=(name,)).fetch(20)
        assert c.schedule(len, args=("abc",)).fetch(20) == 3


def test_attributes_and_args_are_returned(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        with pytest.raises(Own, match=r"code 7 \(on worker:\d\)") as own:
            c.schedule(raise_a, args=("own",)).fetch(20)
        e: Any = own.value
        assert isinstance(e, muster.ClosureError) and e.args == ("code 7",)
        assert (e.code, e.hint) == (7, "try again")
        assert e.kind is FailureKind.USER and e.message == "code 7", "attributes of ClosureError take precedence"
        assert type(e.original) is Own and (e.original.kind, e.original.message) == (
            "its own, too", "its own")
        with pytest.raises(FileNotFoundError) as missing:
            c.schedule(open, args=("/no/such/file",)).fetch(20)
        assert missing.value.errno == 2 and missing.value.filename == "/no/such/file"
        assert missing.value.args == (2, "No such file or directory")
        with pytest.raises(json.JSONDecodeError) as no_json:
            c.schedule(json.loads, args=('{"a":',)).fetch(20)
        assert no_json.value.pos == 5 and no_json.value.doc == '{"a":'
        with pytest.raises(UnicodeDecodeError) as text:
            c.schedule(raise_a, args=("unicode",)).fetch(20)
        assert (text.value.start, text.value.object) == (0, b"\xff")
        with pytest.raises(MadeOfTwo) as two:
            c.schedule(raise_a, args=("two",)).fetch(20)
        assert two.value.pair == (1, {2})
        with pytest.raises(muster.ClosureError) as ended:
            c.schedule(raise_a, args=("exit",)).fetch(20)
        assert not isinstance(ended.value, SystemExit) and ended.value.original.code == 3


def chained() -> None:
    try:
        try:
            [].pop()
        except IndexError:
            raise KeyError("in between")  # noqa: B904  its context is looked at
    except KeyError as error:
        last = Own(1, hint="h")
        if sys.version_info >= (3, 11):
            last.add_note("a note")
        raise last from error


def test_causes_contexts_and_notes_are_returned(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        with pytest.raises(Own) as caught:
            c.schedule(chained).fetch(20)
        e = caught.value
        assert type(e.__cause__) is KeyError and e.__cause__.args == ("in between",)
        assert type(e.__cause__.__context__) is IndexError
        shown = "".join(traceback.format_exception(type(e), e, e.__traceback__))
        assert 'raise KeyError("in between")' in shown and "Own: code 1 (on worker:" in shown
        if sys.version_info >= (3, 11):
            assert e.__notes__ == ["a note"] and "a note" in shown

        def while_handling() -> None:
            try:
                {}["key"]
            except KeyError:
                raise ValueError("late")  # noqa: B904  its context is looked at

        value = c.schedule(while_handling)
        until(value.done)
        error = value._record.error.again()
        assert type(error.__context__) is KeyError
        assert "while_handling" in str(error.__cause__), "the traceback of the worker is missing"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no groups")
def test_exception_groups_are_returned_as_groups(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        with pytest.raises(ExceptionGroup) as caught:  # type: ignore[name-defined]
            c.schedule(raise_a, args=("group",)).fetch(20)
        value, gone, own = caught.value.exceptions
        assert (type(value), gone.errno, own.hint) == (ValueError, 2, "in it")
        assert caught.value.subgroup(OSError).exceptions == (gone,)


PROGRAM = """
    import sys
    import muster

    class Mine(Exception):
        def __init__(self, a, b):
            super().__init__("text")
            self.both = a + b

    def broken(x):
        raise Mine(x, 1)  # the line

    with muster.ClusterCoordinator(sys.argv[1]) as c:
        try:
            c.schedule(broken, args=(1,)).fetch(20)
        except Mine as e:
            assert e.both == 2 and type(e.original) is Mine
            print(e.remote_traceback)
"""


def test_error_of_a_program_shows_its_own_classes_files_and_lines(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    ran = subprocess.run([sys.executable, str(program), cluster.server.grpc], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(HERE.parent)}, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert f'File "{program}", line 11, in broken\n    raise Mine(x, 1)  # the line' in ran.stdout


def test_traceback_has_lines_that_only_the_client_knows(cluster: Cluster) -> None:
    import linecache

    name, source = "<a cell of a notebook>", "def cell():\n    return 1 // 0  # here\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), space)
    with cluster.coordinator(continue_on_error=True) as c, pytest.raises(ZeroDivisionError) as caught:
        c.schedule(space["cell"]).fetch(20)
    expected = f'File "{name}", line 2, in cell\n    return 1 // 0  # here\n'
    assert expected in caught.value.remote_traceback and expected in str(caught.value.__cause__)


def test_lines_are_added_once_and_within_groups() -> None:
    text = (f'  + Exception Group Traceback (most recent call last):\n  |   File "{__file__}", line 1, in f\n'
            f'  |     there\n  |   File "{__file__}", line 1, in g\n  | ValueError: 1\n'
            '  File "/no/such/file.py", line 3, in h\n')
    once = _failures.with_lines(text)
    assert once == text.replace('in g\n', 'in g\n  |     """Exceptions of functions, as they come back: whole, '
                                'with a traceback that can be read, and whatever their\n')
    assert _failures.with_lines(once) == once


def failure_of(error: BaseException) -> muster.ClosureError:
    return plain_error(Failure(
        FailureKind.USER, failures.type_name_of(error), failures.message_of(error),
        failures.traceback_of(error), "worker:0", 1, (), failures.packed(error), True)).again()


def test_too_large_or_unpicklable_parts_are_omitted() -> None:
    error = Own(1, hint="h")
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    error.large = b"x" * (1 << 20)  # type: ignore[attr-defined]
    got: Any = failure_of(error)
    assert got.code == 1 and not hasattr(got, "lock") and not hasattr(got, "large")
    many = Own(1, hint="h")
    for i in range(20):
        setattr(many, f"a{i}", b"x" * 8000)
    assert 0 < len(failures.packed(many)) <= exceptions.BYTES_MAX
    for i in range(20_000):
        setattr(many, f"a{i}", i)
    assert failures.packed(many) == b""
    with pytest.raises(Own, match="code 1"):
        raise failure_of(many)
    deep: Exception = ValueError(0)
    for i in range(100):
        following = ValueError(i)
        following.__cause__ = deep
        deep = following
    chain, count = failure_of(deep).original, 0
    while chain is not None:
        chain, count = chain.__cause__, count + 1
    assert count == exceptions.NODES_MAX + 1, "the last exception shows the traceback"


def test_exception_of_an_older_worker_is_recognized_by_its_class() -> None:
    error = failure_of(Own(1, hint="h"))._failure._replace(exception=b"")
    with pytest.raises(Own) as caught:
        raise plain_error(error).again()
    assert caught.value.args == ("code 1",) and caught.value.original is None


def test_input_error_has_the_details_of_the_failed_input(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        first = c.schedule(raise_a, args=("own",))
        middle = c.schedule(len, args=(first,))
        for value in (middle, c.schedule(len, args=([middle],))):
            with pytest.raises(muster.InputError, match="failed: code 7") as caught:
                value.fetch(20)
            e: Any = caught.value
            assert e.type == "test_errors.Own" and e.worker.startswith("worker:") and e.attempt == 1
            assert "raise Own(7" in e.remote_traceback
            assert isinstance(e.__cause__, Own) and e.__cause__.hint == "try again"
            assert isinstance(pickle.loads(pickle.dumps(e)).__cause__, Own)
        del first, middle, value
        with cluster.coordinator(continue_on_error=True) as other:  # this coordinator does not know the input
            gone = c.schedule(bad)
            until(gone.done)
            with pytest.raises(muster.InputError) as told:
                other.schedule(len, args=(gone,)).fetch(20)
            assert told.value.type == "ValueError" and "in bad" in str(told.value.__cause__)


def test_exceptions_survive_a_server_restart(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    cluster.add("--processes", "1")
    with cluster.coordinator(continue_on_error=True) as c:
        value = c.schedule(raise_a, args=("own",))
        until(value.done)
        record = value._record
        before = cluster.server.grpc, cluster.server.http.removeprefix("http://")
        cluster.server.kill()
        record.ended, record.error = False, None  # as if the error had not arrived
        with c._session._lock:
            c._session._unfinished += 1
        cluster.server.start(*before)
        with pytest.raises(Own) as caught:
            value.fetch(60)
        assert caught.value.hint == "try again"


def test_rest_omits_the_pickled_exception(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        session = c.wait_open()
        value = c.schedule(raise_a, args=("own",))
        until(value.done)
        shown = cluster.server.get(f"/api/v1/jobs/{session}/closures")
        assert "code 7" in json.dumps(shown) and "exception" not in json.dumps(shown)


def test_timeout_raises_a_timeout_error(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        with pytest.raises(TimeoutError, match="deadline of 200 ms") as caught:
            c.options(timeout=0.2).schedule(time.sleep, args=(60,)).fetch(20)
        assert isinstance(caught.value, muster.TimedOutError) and caught.value.kind is FailureKind.TIMEOUT


def test_exception_class_survives_nested_waits() -> None:
    deep: Any = Own(7, hint="try again")
    for _ in range(3):
        deep = failure_of(deep)
        assert isinstance(deep, Own) and isinstance(deep, muster.ClosureError)
        assert deep.hint == "try again" and deep.kind is FailureKind.USER
        pickle.loads(pickle.dumps(deep))
    assert isinstance(deep.original, Own) and isinstance(deep.original.original, Own)
    timed_out: Any = failure_of(plain_error(Failure(FailureKind.TIMEOUT, "", "too long")))
    assert isinstance(timed_out, muster.TimedOutError) and isinstance(timed_out, TimeoutError)
    assert timed_out.kind is FailureKind.USER, "the error belongs to the function that waited"


def test_error_two_levels_deep_is_caught_by_its_class(cluster: Cluster) -> None:
    server = cluster.server.grpc

    def above() -> None:
        with muster.ClusterCoordinator(server) as c:
            c.submit(int, "no number").fetch(20)

    with cluster.coordinator() as c:
        with pytest.raises(ValueError, match="no number") as caught:
            c.submit(above).fetch(20)
        assert isinstance(caught.value, muster.ClosureError)
        with muster.Executor(server) as executor, pytest.raises(ValueError, match="no number"):
            executor.submit(above).result(20)


def nested_failure(server: str, depth: int) -> None:
    if depth == 0:
        raise RuntimeError("no more")
    with muster.ClusterCoordinator(server) as c:
        c.submit(nested_failure, server, depth - 1).fetch(20)


def test_place_of_a_nested_error_is_named_once(cluster: Cluster) -> None:
    with cluster.coordinator() as c, pytest.raises(RuntimeError) as caught:
        c.submit(nested_failure, cluster.server.grpc, 2).fetch(20)
    assert re.fullmatch(r"no more \(on worker:\d\)", str(caught.value)), str(caught.value)


def train_step(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.01)
    raise ZeroDivisionError("no batches")


def test_call_cancelled_because_of_another_error_names_that_error(cluster: Cluster) -> None:
    with cluster.coordinator() as c, tempfile.TemporaryDirectory() as folder:
        long = c.schedule(time.sleep, args=(60,))
        c.schedule(train_step, args=(os.path.join(folder, "go"),))
        until(lambda: cluster.server.running() == 2, "both run")
        open(os.path.join(folder, "go"), "w").close()
        with pytest.raises(muster.CancelledError) as caught:
            long.fetch(20)
        assert re.fullmatch(r"cancelled because call cl_[0-9a-f]{16} \(test_errors\.train_step\) failed: "
                            r"ZeroDivisionError: no batches \(on worker:\d\)", str(caught.value)), str(caught.value)
        with pytest.raises(ZeroDivisionError):
            c.join(20)


def test_waiter_of_a_cancelled_closure_is_not_cancelled(cluster: Cluster) -> None:
    server = cluster.server.grpc

    def above() -> None:
        with muster.ClusterCoordinator(server) as c:
            value = c.submit(time.sleep, 60)
            value.cancel()
            value.fetch(20)

    with muster.Executor(server) as executor:
        with pytest.raises(muster.CancelledError) as caught:
            executor.submit(above).result(20)
        assert caught.value.kind is FailureKind.USER
