"""Checkpoints of objects and variables on tasks: real servers, real workers."""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import threading
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, until
from muster.variables import checkpoint, known, making

np = pytest.importorskip("numpy")


@pytest.fixture
def with_two(make_cluster: Callable[..., Cluster]) -> Cluster:
    cluster = make_cluster()
    for i in (0, 1):
        cluster.add("--job", "ps", "--index", str(i), "--processes", "1")
    cluster.add("--index", "0", "--processes", "1")
    return cluster


class Steps:
    def __init__(self) -> None:
        self.count = 0

    def add(self, n: int = 1) -> int:
        self.count += n
        return self.count

    def save_state(self) -> Any:
        return {"count": self.count}

    def load_state(self, state: Any) -> None:
        self.count = state["count"]


def model(c: muster.ClusterCoordinator, shards: int) -> tuple[Any, Any, Any]:
    parts = c.variable(np.zeros((7, 2), "float32"), name="parts", tasks=["ps:0", "ps:1"],
                       partitioner=muster.FixedShardsPartitioner(shards))
    return c.variable(np.zeros(3), name="whole", task="ps:1"), parts, c.create(Steps, task="ps:0", name="steps")


def killed(c: muster.ClusterCoordinator, task: str) -> None:
    os.kill(c.options(task=task).submit(os.getpid).fetch(20), signal.SIGKILL)


def test_saved_state_is_restored_also_into_other_shards(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    whole, parts, steps = model(c, 2)
    assert c.restore(tmp_path / "none") is None
    g = np.arange(14, dtype="float32").reshape(7, 2)
    parts.adam(g, 0.1)
    whole.assign([1, 2, 3])
    steps.add(5)
    assert c.save(tmp_path) == 1
    parts.adam(g, 0.1)
    going_on = parts.read().fetch(20)
    for again in (whole, steps):
        again.assign(0) if again is whole else again.add(7)
    assert c.save(tmp_path, keep=2) == 2 and c.save(tmp_path, keep=2) == 3
    assert checkpoint.numbers(tmp_path) == [2, 3]
    c.close()
    for shards in (1, 3):
        other = with_two.coordinator()
        made = model(other, shards)
        assert other.restore(tmp_path) == 3
        np.testing.assert_array_equal(made[1].read().fetch(20), going_on)
        assert made[0].read().fetch(20).tolist() == [0, 0, 0] and made[2].add(0).fetch(20) == 12
        other.close()
    for number in (2, 3):
        (tmp_path / f"checkpoint-{number}" / "data").unlink()
    fresh = with_two.coordinator()
    model(fresh, 2)
    with pytest.raises(ValueError, match="no checkpoint in .* is complete: .*checkpoint-3 has no data"):
        fresh.restore(tmp_path)


def test_optimizer_slots_are_restored_into_other_shards(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    _, parts, _ = model(c, 2)
    g = np.arange(14, dtype="float32").reshape(7, 2)
    parts.adam(g, 0.1)
    parts.sgd(g, 0.1, momentum=0.5)
    c.save(tmp_path)
    parts.adam(g, 0.1)
    parts.sgd(g, 0.1, momentum=0.5)
    expected = parts.read().fetch(20)
    c.close()
    other = with_two.coordinator()
    _, made, _ = model(other, 3)
    other.restore(tmp_path)
    made.adam(g, 0.1)
    made.sgd(g, 0.1, momentum=0.5)
    np.testing.assert_array_equal(made.read().fetch(20), expected)


def test_large_shards_are_saved_consistently_during_updates(with_two: Cluster, tmp_path: pathlib.Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.variables.known.WHOLE_MAX", 4096)
    monkeypatch.setattr("muster.variables.known.PIECE", 2000)
    c, other = with_two.coordinator(), with_two.coordinator()
    v = c.variable(np.zeros((1000, 4)), name="v")
    v.sgd(np.zeros((1000, 4)), 0.1, momentum=0.5)
    theirs = other.get_variable("v")
    stop = threading.Event()

    def update() -> None:
        while not stop.is_set():
            theirs.assign_add(1).fetch(20)

    thread = threading.Thread(target=update)
    thread.start()
    try:
        for _ in range(5):
            number = c.save(tmp_path)
            reader = checkpoint.Reader(tmp_path, number)
            saved, version = reader.rows("v", 0, 1000)
            array = dict(saved)[""]
            assert (array == array[0, 0]).all(), "the parts belong to one moment"
            assert len(reader.variables["v"]["parts"]) > 10
    finally:
        stop.set()
        thread.join()
    v.assign(0)
    c.restore(tmp_path)
    assert (v.read().fetch(20) == array[0, 0]).all()
    assert int(v._call("info").fetch()[2]) == version


def test_two_coordinators_can_cut_one_shard_at_the_same_time(with_two: Cluster, tmp_path: pathlib.Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.variables.known.WHOLE_MAX", 4096)
    monkeypatch.setattr("muster.variables.known.PIECE", 2000)
    c, other = with_two.coordinator(), with_two.coordinator()
    v = c.variable(np.zeros((1000, 4)), name="v")
    theirs = other.get_variable("v")
    written = known._write

    def write(*args: Any) -> None:
        """After the first piece, the other coordinator starts and finishes a cut of its own, of a later state."""
        monkeypatch.setattr(known, "_write", written)
        theirs.assign_add(1).fetch(20)
        other.save(tmp_path / "theirs")
        written(*args)

    monkeypatch.setattr(known, "_write", write)
    number = c.save(tmp_path / "own")
    for path, value in (("own", 0), ("theirs", 1)):
        saved, _ = checkpoint.Reader(tmp_path / path, number).rows("v", 0, 1000)
        assert (dict(saved)[""] == value).all()
    assert v.read().fetch(20)[0, 0] == 1


def test_quiesced_checkpoint_is_consistent_across_variables(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    vs = [c.variable(np.zeros(1), name=f"v{i}", task=f"ps:{i}") for i in (0, 1)]

    def both(given: Any) -> None:
        for v in given:
            v.assign_add(1).fetch(20)

    stop = threading.Event()

    def schedule() -> None:
        while not stop.is_set():
            c.fetch([c.schedule(both, (vs,)) for _ in range(5)])

    thread = threading.Thread(target=schedule)
    thread.start()
    try:
        for _ in range(3):
            reader = checkpoint.Reader(tmp_path, c.save(tmp_path, quiesce=True))
            a, b = (float(reader.rows(f"v{i}", 0, 1)[0][0][1][0]) for i in (0, 1))
            assert a == b
            before = a
            until(lambda: float(vs[0].read().fetch(20)[0]) > before, "others go on")
    finally:
        stop.set()
        thread.join()


def test_mismatches_are_reported_before_anything_is_loaded(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    c.variable(np.ones(3), name="a")
    c.save(tmp_path)
    c.close()
    other = with_two.coordinator()
    a = other.variable(np.zeros(3), name="a")
    other.variable(np.zeros(3), name="b").delete()
    other.restore(tmp_path)
    a.assign(0)
    other.variable(np.zeros(3), name="c")
    with pytest.raises(ValueError, match="checkpoint 1 has no variable 'c'"):
        other.restore(tmp_path)
    assert not a.read().fetch(20).any()
    third = with_two.coordinator()
    third.variable(np.zeros(4), name="a2")
    third.create(Steps, task="ps:0")
    with pytest.raises(ValueError, match="Steps on ps:0> has no name"):
        third.save(tmp_path)
    fourth = with_two.coordinator()
    other.close()
    until(lambda: not _is_there(fourth, "a"), "it goes with its session")
    fourth.variable(np.zeros(4), name="a")
    with pytest.raises(ValueError, match=r"'a' has \(4,\) float64, but in checkpoint 1 it has \(3,\) float64"):
        fourth.restore(tmp_path)


def _is_there(c: muster.ClusterCoordinator, name: str) -> bool:
    try:
        c.get_variable(name)
        return True
    except muster.NotServedError:
        return False


WAITS = "no checkpoint is saved until restore"


def test_lost_task_is_restored_from_the_newest_checkpoint(with_two: Cluster, tmp_path: pathlib.Path,
                                                          caplog: pytest.LogCaptureFixture,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    c = with_two.coordinator()
    whole, parts, steps = model(c, 2)
    with c.checkpoints(tmp_path, every=0.02, keep=2) as made:
        whole.assign([1, 2, 3])
        parts.assign_add(1)
        steps.add(3).fetch(20)
        last = made.last or 0
        until(lambda: (made.last or 0) > last + 1, "one was begun after it")
        killed(c, "ps:1")
        with pytest.raises(muster.UnavailableError):
            while True:
                whole.read().fetch(20)
        with pytest.raises(muster.UnavailableError):
            until(lambda: c.join(20))
        for one in (whole, parts, steps):
            one.delete()
        whole, parts, steps = model(c, 3)
        whole.read().fetch(20)
        kept = checkpoint.numbers(tmp_path)
        until(lambda: WAITS in caplog.text, "its time comes")
        tries: list[int] = []
        save = made._known.save_unless_restarted
        monkeypatch.setattr(made._known, "save_unless_restarted", lambda *a: (tries.append(1), save(*a))[1])
        until(lambda: len(tries) > 2, "it is tried again and again")
        assert caplog.text.count(WAITS) == 1, "the log reports it once"
        assert checkpoint.numbers(tmp_path) == kept, "no checkpoint is written before the restore"
        assert c.restore(tmp_path) == kept[-1]
        assert (whole.read().fetch(20).tolist(), steps.add(0).fetch(20)) == ([1, 2, 3], 3)
        assert (parts.read().fetch(20) == 1).all()
        until(lambda: (made.last or 0) > kept[-1], "it goes on")


def test_restarted_coordinator_continues_from_its_checkpoint(with_two: Cluster, tmp_path: pathlib.Path,
                                                             caplog: pytest.LogCaptureFixture) -> None:
    c = with_two.coordinator()
    whole, _, _ = model(c, 2)
    whole.assign(4).fetch(20)
    c.save(tmp_path)
    c.close()
    again = with_two.coordinator()
    whole, _, _ = model(again, 2)
    with again.checkpoints(tmp_path, every=0.02):
        until(lambda: WAITS in caplog.text, "its time comes")
        assert checkpoint.numbers(tmp_path) == [1], "no checkpoint is written before the restore"
        assert again.restore(tmp_path) == 1
        until(lambda: len(checkpoint.numbers(tmp_path)) > 1, "it goes on")
    assert whole.read().fetch(20).tolist() == [4, 4, 4]


def test_recreated_variable_is_not_saved_before_restore(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    v = c.variable(np.ones(3), name="v")
    c.save(tmp_path)
    v.delete()
    assert c._known.save_unless_restarted(tmp_path, None) == 2, "the variable was deleted and not created again"
    v = c.variable(np.zeros(3), name="v")
    assert c._known.save_unless_restarted(tmp_path, None) is None
    (tmp_path / "checkpoint-2" / "data").unlink()
    (tmp_path / "checkpoint-2" / "manifest.json").unlink()
    assert c.restore(tmp_path) == 1 and v.read().fetch(20).tolist() == [1, 1, 1]
    assert c._known.save_unless_restarted(tmp_path, None) == 3


def test_state_of_a_partly_failed_restore_is_not_saved(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    v = c.variable(np.ones(3), name="v")
    steps = c.create(Refuses, task="ps:0", name="steps")
    c.save(tmp_path)
    v.assign(0)
    with pytest.raises(ValueError, match="not today"):
        c.restore(tmp_path)
    assert v.read().fetch(20).tolist() == [1, 1, 1], "the variable was restored, the object was not"
    assert c._known.save_unless_restarted(tmp_path, None) is None
    steps.allow().fetch(20)
    assert c.restore(tmp_path) == 1 and c._known.save_unless_restarted(tmp_path, None) == 2


def test_failed_save_does_not_permit_periodic_checkpoints(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    first = with_two.coordinator()
    first.variable(np.ones(3), name="v")
    first.save(tmp_path)
    first.close()
    c = with_two.coordinator()
    c.variable(np.zeros(3), name="w")
    with pytest.raises(ValueError, match="keep"):
        c.save(tmp_path, keep=0)
    assert c._known.save_unless_restarted(tmp_path, None) is None
    assert c.save(tmp_path) == 2 and c._known.save_unless_restarted(tmp_path, None) == 3


class Refuses(Steps):
    allowed = False

    def allow(self) -> None:
        self.allowed = True

    def load_state(self, state: Any) -> None:
        if not self.allowed:
            raise ValueError("not today")


def test_background_error_is_raised_by_the_next_join(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    c.variable(np.zeros(1), name="v")
    (tmp_path / "file").write_text("no directory")
    made = c.checkpoints(tmp_path / "file", every=0.01)
    with pytest.raises(OSError, match="file"):
        until(lambda: c.join(20))
    made.stop()
    with contextlib.suppress(OSError):  # the error of a later checkpoint
        c.join(20)
    assert c.schedule(pow, (2, 2)).fetch(20) == 4


def test_background_error_is_raised_at_the_end_of_its_block(with_two: Cluster, tmp_path: pathlib.Path,
                                                            caplog: pytest.LogCaptureFixture) -> None:
    c = with_two.coordinator()
    c.variable(np.zeros(1), name="v")
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(OSError, match="file"), c.checkpoints(tmp_path / "file", every=0.01):
        until(lambda: "no checkpoint was saved" in caplog.text, "it is in the log")
    assert c.schedule(pow, (2, 2)).fetch(20) == 4, "the error is raised once"


def test_longest_row_is_saved_with_all_slots(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    v = c.variable(shape=(1, making.ROW_MAX // 4), name="v")
    v.sgd(1.0, 0.5, momentum=0.5)
    v.adam(1.0, 0.5)
    expected = v.read().fetch(20)
    c.save(tmp_path)
    v.assign(0)
    c.restore(tmp_path)
    assert (v.read().fetch(20) == expected).all()


def test_periodic_checkpoints_end_with_their_coordinator(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    """The thread ends at once, not at the time of its next checkpoint."""
    c = with_two.coordinator()
    made = c.checkpoints(tmp_path, every=3600)
    c.close()
    made._thread.join(20)
    assert not made._thread.is_alive()
    with with_two.coordinator().checkpoints(tmp_path, every=3600) as made:
        pass
    assert not made._thread.is_alive() and not checkpoint.numbers(tmp_path)


def test_quiesce_waits_for_calls_that_callbacks_schedule(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    v = c.variable(np.zeros(1), name="v")
    gate = tmp_path / "gate"
    values: list[Any] = []

    def add(given: Any) -> None:
        given.assign_add(1).fetch(20)

    def first(path: str) -> None:
        until(lambda: os.path.exists(path))

    value = c.schedule(first, (str(gate),))
    value.add_done_callback(lambda: values.append(c.schedule(add, (v,))))
    with pytest.raises(muster.WaitTimeout, match="1 closure that the checkpoint waits for did not finish within 0.1 s"):
        c.save(tmp_path / "saved", quiesce=True, timeout=0.1)
    saved: list[int] = []
    thread = threading.Thread(target=lambda: saved.append(c.save(tmp_path / "saved", quiesce=True, timeout=20)))
    thread.start()
    until(lambda: c._session._held, "it holds what others schedule")
    gate.touch()
    thread.join(30)
    rows, _ = checkpoint.Reader(tmp_path / "saved", saved[0]).rows("v", 0, 1)
    assert dict(rows)[""].tolist() == [1], "the update of the callback is included"


def test_callback_that_raises_does_not_end_the_session(with_two: Cluster, tmp_path: pathlib.Path) -> None:
    c = with_two.coordinator()
    v = c.variable(np.zeros(1), name="v")
    called = threading.Event()

    def raises() -> None:
        called.set()
        raise ValueError("the user's")

    value = c.create(Gate, task="ps:0").wait(str(tmp_path / "gate"))
    value.add_done_callback(raises)
    (tmp_path / "gate").touch()
    assert called.wait(20)
    v.assign_add(1)
    assert v.read().fetch(20).tolist() == [1] and c.schedule(pow, (2, 2)).fetch(20) == 4


class Gate:
    def wait(self, path: str) -> None:
        until(lambda: os.path.exists(path))
