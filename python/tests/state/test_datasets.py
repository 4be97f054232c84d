"""Datasets whose splits the server distributes: real servers, real workers."""
from __future__ import annotations

import collections
import json
import os
import pathlib
import subprocess
import time
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, binary, until


def worked(splits: Any) -> list[Any]:
    return list(splits)


def worked_slowly(splits: Any, folder: str) -> list[Any]:
    """Records each split, and continues once the file "go" exists."""
    found = []
    for split in splits:
        found.append(split)
        pathlib.Path(folder, f"{os.getpid()}-{split}").touch()
        while not pathlib.Path(folder, "go").exists():
            time.sleep(0.01)
    return found


def one(splits: Any) -> Any:
    return next(splits)


def first_of(splits: Any) -> Any:
    for split in splits:
        return split
    return None


def fail_after(splits: Any, count: int) -> None:
    for _ in range(count):
        next(splits)
    raise LookupError("not today")


def epochs_of(splits: Any) -> Any:
    return list(splits["deep"][0].epoch(0)), list(splits["deep"][0].epoch(1))


def lines(split: str) -> Any:
    begin, end = map(int, split.split("-"))
    return range(begin, end)


def all_but_b(split: str) -> list[str]:
    if split == "b":
        raise OSError(split)
    return [split]


def generated_but_b(split: str) -> Any:
    if split == "b":
        raise OSError(split)
    yield split


def what_can_be_read(elements: Any) -> list[Any]:
    found = []
    while True:
        try:
            found.append(next(elements))
        except StopIteration:
            return found
        except OSError:
            pass


@pytest.fixture
def cluster(make_cluster: Callable[..., Cluster]) -> Cluster:
    made = make_cluster()
    made.add("--index", "0", "--processes", "1")
    made.add("--index", "1", "--processes", "1")
    made.wait_connected(2)
    return made


def test_each_split_is_dealt_out_once_per_epoch(cluster: Cluster) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset([f"file-{i}" for i in range(20)], epochs=3, name="files")
    seen: list[Any] = []
    for epoch in range(3):
        assert ds.progress() == {"epoch": epoch, "epochs": 3, "splits": 20, "queued": 20, "drawn": 0, "done": 0}
        parts = [c.schedule(worked, ([{"deep": ds.epoch(epoch)}][0]["deep"],)) for _ in range(2)]
        c.join()
        got = [split for part in parts for split in part.fetch(20)]
        assert sorted(got) == sorted(f"file-{i}" for i in range(20))
        seen += got
    assert ds.done()
    assert c.schedule(worked, (ds,)).fetch(20) == []


def test_functions_of_all_epochs_can_be_scheduled_at_once(cluster: Cluster) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(range(7), epochs=2)
    steps = [c.schedule(one, (ds,)) for _ in range(14)]
    c.join()
    assert collections.Counter(s.fetch(20) for s in steps) == {i: 2 for i in range(7)}
    assert ds.done()


def test_elements_are_read_from_splits(cluster: Cluster) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(["0-5", "5-5", "5-9"], read=lines)
    parts = [c.schedule(worked, (ds,)) for _ in range(2)]
    c.join()
    assert sorted(n for part in parts for n in part.fetch(20)) == list(range(9))
    assert ds.done()


def test_partly_read_split_is_dealt_out_again(cluster: Cluster) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(["0-5"], read=lines)
    assert c.schedule(first_of, (ds,)).fetch(20) == 0
    c.join()
    assert ds.progress()["queued"] == 1
    assert c.schedule(worked, (ds,)).fetch(20) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("read", [all_but_b, generated_but_b])
def test_unreadable_split_is_not_done_and_does_not_block_others(cluster: Cluster, read: Any) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(["a", "b", "c"], read=read)
    assert c.schedule(what_can_be_read, (ds,)).fetch(20) == ["a", "c"]
    c.join()
    assert ds.position() == {"epoch": 0, "done": [0, 2]}


def test_captured_handle_starts_again_in_each_function(cluster: Cluster) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(["0-5", "5-9"], read=lines)

    def first_captured() -> Any:
        return next(ds)

    for _ in range(3):  # each function gives the split back, and the next one reads it from its beginning
        assert c.schedule(first_captured).fetch(20) == 0
        c.join()


def test_splits_of_a_failed_function_are_dealt_out_again(cluster: Cluster) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(range(5))
    with pytest.raises(LookupError):
        c.schedule(fail_after, (ds, 3)).fetch(20)
    with pytest.raises(LookupError):
        c.join()
    assert ds.position() == {"epoch": 0, "done": []}
    assert sorted(c.schedule(worked, (ds,)).fetch(20)) == [0, 1, 2, 3, 4]


def test_splits_of_a_lost_worker_are_processed_by_another(make_cluster: Callable[..., Cluster],
                                                          tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--reconnect-grace", "0s")
    first = cluster.add("--index", "0", "--processes", "1")
    cluster.add("--index", "1", "--processes", "1")
    cluster.wait_connected(2)
    c = cluster.coordinator()
    ds = c.create_distributed_dataset([f"s{i}" for i in range(6)], name="files")
    parts = [c.schedule(worked_slowly, (ds, str(tmp_path))) for _ in range(2)]
    until(lambda: len(list(tmp_path.glob("*-s?"))) == 2)
    shown = cluster.server.get("/api/v1/datasets")["datasets"][0]
    assert (shown["name"], shown["queued"], shown["drawn"], shown["done"]) == ("files", 4, 2, 0)
    assert {w["task"] for w in shown["workers"]} == {"worker:0", "worker:1"}
    first.kill()
    until(lambda: ds.progress()["drawn"] == 1 or cluster.server.get("/api/v1/datasets")["datasets"][0]["given_back"])
    (tmp_path / "go").touch()
    c.join()
    got = [split for part in parts for split in part.fetch(20)]
    assert sorted(got) == [f"s{i}" for i in range(6)]
    assert ds.done()
    assert cluster.server.get(f"/api/v1/datasets/{shown['id']}")["given_back"] >= 1


def test_position_can_be_continued_in_another_coordinator(cluster: Cluster) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(range(4), epochs=2)
    had = [c.schedule(one, (ds,)).fetch(20) for _ in range(5)]
    c.join()
    at = json.loads(json.dumps(ds.position()))
    assert at == {"epoch": 1, "done": [had[4]]}
    c.close()
    other = cluster.coordinator()
    again = other.create_distributed_dataset(range(4), epochs=2, position=at)
    assert sorted(other.schedule(worked, (again,)).fetch(20)) == sorted(set(range(4)) - {had[4]})
    other.join()
    assert again.done()


def test_checkpoint_contains_the_position(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(range(4), epochs=2, name="numbers")
    had = [c.schedule(one, (ds,)).fetch(20) for _ in range(3)]
    c.join()
    at = ds.position()
    assert c.save(tmp_path) == 1
    c.schedule(worked, (ds,)).fetch(20)
    c.join()
    assert ds.position() == {"epoch": 1, "done": []}
    assert c.restore(tmp_path) == 1
    assert ds.position() == at == {"epoch": 0, "done": sorted(had)}
    c.close()
    other = cluster.coordinator()
    again = other.create_distributed_dataset(range(4), epochs=2, name="numbers")
    other.restore(tmp_path)
    assert other.schedule(worked, (again,)).fetch(20) == list(set(range(4)) - set(had))


def test_command_line_shows_the_progress_of_a_dataset(cluster: Cluster) -> None:
    c = cluster.coordinator()
    ds = c.create_distributed_dataset(range(4), epochs=2, name="numbers")
    c.schedule(one, (ds,)).fetch(20)
    c.join()

    def said(*words: str) -> str:
        return subprocess.run([binary(), "datasets", *words, "--url", cluster.server.http], check=True,
                              capture_output=True, text=True).stdout

    head, row = said().splitlines()
    assert head.split() == ["ID", "NAME", "EPOCH", "SPLITS", "QUEUED", "DRAWN", "DONE", "WAITING"]
    assert row.split()[1:] == ["numbers", "1", "of", "2", "4", "3", "0", "1", "0"]
    shown = said("show", row.split()[0])
    assert "splits      4: 3 queued, 0 drawn, 1 done" in shown
    assert shown.splitlines()[-1].split()[1:] == ["0", "1"]
    assert json.loads(said("show", row.split()[0], "--output", "json"))["done"] == 1


def test_invalid_datasets_and_uses_are_refused(cluster: Cluster) -> None:
    c = cluster.coordinator()
    for splits, words, said in [([], {}, "splits: required: at least one split"),
                                ([b"x" * 70_000], {}, "the limit is 65536"),
                                ([1], {"epochs": 2_000_000}, "epochs"),
                                ([1], {"position": {"epoch": 0, "done": [1]}}, "position.done")]:
        with pytest.raises(muster.InputError, match=said):
            c.create_distributed_dataset(splits, **words)
    ds = c.create_distributed_dataset([1, 2], epochs=2, name="two")
    with pytest.raises(RuntimeError):
        next(ds)
    with pytest.raises(ValueError):
        ds.epoch(2)
    with pytest.raises(muster.InputError, match="each function can read only one epoch"):
        c.schedule(epochs_of, ({"deep": [ds]},)).fetch(20)
    with pytest.raises(muster.InputError):
        c.join()
    with cluster.coordinator() as other, pytest.raises(muster.InputError, match="only functions of that session"):
        other.schedule(worked, (ds,)).fetch(20)
    ds.delete()
    with pytest.raises(muster.NotServedError, match="was deleted"):
        c.schedule(worked, (ds,)).fetch(20)


def test_dataset_is_unavailable_after_a_server_restart(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    cluster.add("--index", "0", "--processes", "1")
    c = cluster.coordinator()
    ds = c.create_distributed_dataset([1, 2], name="two")
    assert c.schedule(one, (ds,)).fetch(20) in (1, 2)
    c.join()
    before = cluster.server.grpc, cluster.server.http[len("http://"):]
    cluster.server.kill()
    cluster.server.start(*before)
    with pytest.raises(muster.UnavailableError, match="dataset 'two' no longer exists, because the server was "
                                                      "restarted"):
        ds.done()
