"""Large arguments and results of objects and variables in shared memory: real servers, real workers."""
from __future__ import annotations

import gc
import os
import pathlib
import time
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import Cluster, until
from large_objects import Keeper, add_many, held_up, held_up_and_stays, read_and_add, read_some
from memories import memories
from muster._shared import memory as shared_memory
from muster._shared.store import NotTaken, Store

np = pytest.importorskip("numpy")
MB = 1 << 20


@pytest.fixture
def made(make_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    """A parameter server, and a worker with two processes. Afterwards no memory may be held."""
    found = make_cluster("--reconnect-grace", "1s")
    found.add("--role", "ps", "--index", "0", "--processes", "1")
    found.add("--index", "0", "--processes", "2")
    yield found
    found.close()
    shared_memory.forget_unused()  # memory that this process keeps for reuse
    until(lambda: not memories(), "the memory is free")


def at_server(cluster: Cluster) -> int:
    return int(cluster.server.get("/api/v1/blobs")["blobs"])


def filled(mb: int, number: float = 1.0) -> Any:
    return np.full((mb, MB // 8), number)


def test_variable_is_assigned_and_read_through_shared_memory(made: Cluster) -> None:
    with made.coordinator() as c:
        v = c.variable(filled(40), name="w")
        v.assign_add(filled(40, 2.0)).fetch(20)
        found = v.read().fetch(20)
        assert (found == 3).all() and at_server(made) == 0
        found[0, 0] = 7  # the array belongs to the program
        assert v.read().fetch(20)[0, 0] == 3
        assert (v.gather(np.arange(10, 14)).fetch(20) == 3).all()
        v.scatter_add(np.arange(4), filled(4))
        v.assign_rows(4, filled(4, 9.0))
        rows = v.read_rows(2, 6).fetch(20)
        assert rows[:, 0].tolist() == [4, 4, 9, 9]
        v.adam(filled(40), 0.5)
        assert v.read().fetch(20)[20, 0] == pytest.approx(2.5)
        assert at_server(made) == 0
        del found, rows
        gc.collect()
        until(lambda: not memories(), "nothing is held when nobody reads any more")
        assert made.server.get("/api/v1/blobs")["elsewhere"]["values"] == 0


def test_variable_is_read_anew_after_an_assignment(made: Cluster) -> None:
    """Readers of one version share a copy. An assignment makes another version."""
    with made.coordinator() as c:
        v = c.variable(filled(40))
        assert (v.read().fetch(20) == 1).all()
        v.assign(filled(40, 8.0)).fetch(20)
        assert (v.read().fetch(20) == 8).all()


def test_variable_keeps_its_value_if_the_assigned_array_changes(made: Cluster) -> None:
    """The variable uses the assigned memory until it is updated."""
    with made.coordinator() as c:
        v = c.variable(filled(2, 0.0))
        array = filled(2)
        v.assign(array).fetch(20)
        array[:] = 5
        assert (v.read().fetch(20) == 1).all()
        v.assign_add(1)
        v.sgd(filled(2), 0.5)
        assert (v.read().fetch(20) == 1.5).all()


def test_readers_of_one_version_share_one_copy(made: Cluster) -> None:
    with made.coordinator() as c:
        v = c.variable(filled(8))
        reads = [v.read() for _ in range(4)]
        there = [value.fetch(20) for value in reads]
        there += c.fetch([c.schedule(read_some, args=(v,)) for _ in range(4)], 20)
        assert [size // MB for size in memories().values() if size].count(8) <= 2  # the assigned content and the content that is read
        assert len({name for name, size in memories(made.workers[0].process.pid).items() if size}) == 1
        v.assign_add(filled(8)).fetch(20)
        assert (v.read().fetch(20) == 2).all() and all((x == 1).all() for x in there[:4]) and there[4:] == [1.0] * 4


def test_functions_read_and_update_through_shared_memory(made: Cluster) -> None:
    with made.coordinator() as c:
        v = c.variable(filled(4, 0.0))
        c.fetch([c.schedule(read_and_add, args=(v, 4)) for _ in range(6)], 30)
        assert (v.read().fetch(20) == 6).all()
        assert at_server(made) == 0


def test_no_read_is_torn_while_updates_run(made: Cluster) -> None:
    with made.coordinator() as c:
        v = c.variable(filled(2, 0.0))
        adders = [c.schedule(add_many, args=(v, 2, 40)) for _ in range(2)]
        reads = 0
        while not all(value.done() for value in adders) or reads < 5:
            found = v.read().fetch(20)
            assert (found == found[0, 0]).all()
            reads += 1
        c.join()
        assert (v.read().fetch(20) == 80).all()


def test_objects_of_classes_take_and_return_large_values(made: Cluster) -> None:
    with made.coordinator() as c:
        keeper = c.create(Keeper, (1,), task="ps:0")
        big = filled(40)
        assert (keeper.keep({"a": big, "b": [1, 2]}).fetch(20)["a"] == 1).all()  # the first call asks whether it accepts large values
        kept = keeper.kept()
        assert (kept.fetch(20)["a"] == 1).all() and kept.fetch() is kept.fetch() and kept.fetch()["b"] == [1, 2]
        assert at_server(made) == 0
        keeper.kept().fetch(20)["a"][0, 0] = 8  # the result is writable, and the change is not visible to others
        assert keeper.kept().fetch(20)["a"][0, 0] == 1
        done: list[Any] = []
        keeper.kept().add_done_callback(lambda: done.append(1))
        until(lambda: done)
        with pytest.raises(RuntimeError, match="a callback cannot wait"):
            blocked: list[Any] = []
            value = keeper.kept()

            def waits() -> None:
                try:
                    keeper.wait("").fetch(5)
                except RuntimeError as error:
                    blocked.append(error)

            value.add_done_callback(waits)
            raise until(lambda: blocked)[0]


def test_parameter_server_with_threads_uses_shared_memory(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster()
    cluster.add("--job", "ps", "--index", "0", "--threads", "1")
    with cluster.coordinator() as c:
        v, keeper = c.variable(filled(40)), c.create(Keeper, (1,), task="ps:0")
        v.assign_add(filled(40))
        assert (v.read().fetch(20) == 2).all()
        assert c.options(task="ps:0").schedule(read_some, args=(v,)).fetch(20) == 2.0
        keeper.keep(filled(4)).fetch(20)
        assert (keeper.kept().fetch(20) == 1).all()
        assert at_server(cluster) == 0
        c.fetch([v.assign_add(1), keeper.keep(1)], 20)  # the previous arguments are released
        until(lambda: not memories(cluster.workers[0].process.pid), "nothing is held when nobody reads any more")
    cluster.close()


def test_values_are_sent_in_pieces_if_the_parameter_server_has_too_little_memory(make_cluster: Callable[..., Cluster]) -> None:
    for words, taken in (("0", False), (str(8 * MB), True)):
        cluster = make_cluster()
        cluster.add("--job", "ps", "--index", "0", "--processes", "1", "--shm-bytes-max", words)
        with cluster.coordinator() as c:
            v = c.variable(filled(40))
            v.assign_add(filled(40))
            assert (v.read().fetch(20) == 2).all()
            assert (v.read_rows(1, 38).fetch(20) == 2).all()
            assert (v.gather(np.arange(39)).fetch(20) == 2).all()
            assert v._takes_large() == taken
        cluster.close()


def test_values_are_sent_in_pieces_if_the_caller_has_no_shared_memory(made: Cluster) -> None:
    with made.coordinator(shm_bytes_max=0) as c:
        v = c.variable(filled(30))
        assert not v._takes_large()
        v.assign_sub(filled(30, 0.5))
        assert (v.read().fetch(20) == 0.5).all()


@pytest.mark.parametrize("words, way", [((), "peer"), (("--transfer-listen", "off"), "server")])
def test_results_of_another_host_come_from_the_task_or_the_server(make_cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch,
                                                                  words: tuple[str, ...], way: str) -> None:
    """The result is fetched with a ticket, or from the server, which requests its upload."""
    def take(self: Any, holder: str, *rest: Any, **more: Any) -> None:
        raise NotTaken("another host")

    monkeypatch.setattr(Store, "take", take)
    cluster = make_cluster()
    cluster.add("--job", "ps", "--index", "0", "--processes", "1", *words)
    with cluster.coordinator() as c:
        v = c.variable(filled(30))
        assert (v.read().fetch(20) == 1).all()
        until(lambda: cluster.server.get("/api/v1/blobs")["taken_bytes"][way] >= 30 * MB, way)


# Losses.


def killed_before_it_is_taken(made: Cluster, c: muster.ClusterCoordinator, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Kills the parameter server when its next large result is being fetched. Returns the names that were opened."""
    memory, seen = c._session.blobs.memory, []
    opened = memory.open

    def open(name: bytes) -> memoryview:
        if not seen:
            made.workers[0].kill()
        seen.append(name)
        return opened(name)

    monkeypatch.setattr(memory, "open", open)
    return seen


def test_read_fails_as_unavailable_if_its_parameter_server_is_killed(made: Cluster,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    with made.coordinator() as c:
        v = c.variable(filled(4), name="w")
        v.read().fetch(20)
        seen = killed_before_it_is_taken(made, c, monkeypatch)
        with pytest.raises(muster.UnavailableError, match="ps:0") as caught:
            v.read().fetch(30)
        assert seen and caught.value.dependency == ["ps:0"]
        with pytest.raises(muster.UnavailableError, match="ps:0"):
            c.join()


def test_method_result_fails_as_unavailable_if_its_task_is_killed(made: Cluster,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    with made.coordinator() as c:
        keeper = c.create(Keeper, (1,), task="ps:0")
        keeper.keep(filled(4)).fetch(20)
        keeper.kept().fetch(20)
        seen = killed_before_it_is_taken(made, c, monkeypatch)
        with pytest.raises(muster.UnavailableError, match="ps:0") as caught:
            keeper.kept().fetch(30)
        assert len(seen) == 1 and caught.value.dependency == ["ps:0"]


def test_lost_result_of_a_connected_task_repeats_reads_and_fails_methods(made: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads are called again; methods must not be executed twice."""
    with made.coordinator() as c:
        v, keeper = c.variable(filled(4)), c.create(Keeper, (1,), task="ps:0")
        keeper.keep(filled(4)).fetch(20)
        keeper.kept().fetch(20)
        v.read().fetch(20)
        memory, opened, fail = c._session.blobs.memory, c._session.blobs.memory.open, [1]

        def open(name: bytes) -> memoryview:
            if fail:
                fail.pop()
                raise OSError("gone")
            return opened(name)

        monkeypatch.setattr(memory, "open", open)
        assert (v.read().fetch(20) == 1).all()
        fail.append(1)
        before = keeper.calls().fetch(20)
        with pytest.raises(muster.UnavailableError, match="the result of kept of .*Keeper on ps:0 was lost"):
            keeper.kept().fetch(20)
        assert keeper.calls().fetch(20) == before + 1


def test_read_value_outlives_its_parameter_server(made: Cluster) -> None:
    with made.coordinator() as c:
        v = c.variable(filled(4))
        value = v.read()
        until(value.done)
        made.workers[0].kill()
        assert (value.fetch() == 1).all()


def test_updates_of_a_succeeded_function_outlive_its_worker(made: Cluster, tmp_path: pathlib.Path) -> None:
    """The updates were made without waiting, and their object is busy until the worker has been killed."""
    go = tmp_path / "go"
    with made.coordinator() as c:
        keeper = c.create(Keeper, (1,), task="ps:0")
        keeper.keep(filled(4)).fetch(20)
        value = c.schedule(held_up, args=(keeper, str(go), 4))
        assert value.fetch(20) is None
        made.workers[1].kill()
        go.write_text("")
        until(lambda: isinstance(keeper.kept().fetch(30), np.ndarray) and (keeper.kept().fetch(30) == 5).all())


def test_update_of_a_killed_caller_delays_others_only_briefly(made: Cluster, tmp_path: pathlib.Path) -> None:
    """The update is not executed, because its arguments are lost."""
    go, said = tmp_path / "go", tmp_path / "said"
    with made.coordinator() as c:
        keeper = c.create(Keeper, (1,), task="ps:0")
        keeper.keep(filled(4)).fetch(20)
        c.schedule(held_up_and_stays, args=(keeper, str(go), 4, str(said)))
        until(said.exists)
        made.workers[1].kill()
        go.write_text("")
        assert (keeper.kept().fetch(20) == 1).all()
        made.add("--index", "0")
        c.join()


def test_detached_object_is_called_after_its_coordinator_is_closed(made: Cluster, tmp_path: pathlib.Path) -> None:
    go = tmp_path / "go"
    with made.coordinator() as c:
        keeper = c.create(Keeper, (1,), task="ps:0", name="keeper", detached=True)
        keeper.keep(filled(4)).fetch(20)
        keeper.wait(str(go))
        keeper.keep(filled(4, 5.0))
        began = time.monotonic()
    assert time.monotonic() - began < 10
    go.write_text("")
    with made.coordinator() as other:
        found = other.get_object("keeper")
        assert (found.kept().fetch(30) == 5).all()
        found.delete()


def test_memory_of_a_dead_process_is_freed(made: Cluster) -> None:
    with made.coordinator() as c:
        v = c.variable(filled(4))
        kept = v.read().fetch(20)
        until(lambda: memories(made.workers[0].process.pid))
        child = next(int(p) for p in os.listdir("/proc") if p.isdigit() and _is_child_of(int(p), made.workers[0].process.pid))
        os.kill(child, 9)
        until(lambda: not memories(made.workers[0].process.pid))
        assert (kept == 1).all()


def _is_child_of(pid: int, worker: int) -> bool:
    """Returns whether the process runs functions of the worker, as a child of its fork server."""
    def parent(pid: int) -> int:
        try:
            return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return 0

    return parent(parent(pid)) == worker
