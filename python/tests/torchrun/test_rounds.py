"""Which nodes of torchrun are in which round, without torch and without a server."""
from __future__ import annotations

import json
import random
import threading
import time
from typing import Iterator

import pytest

from conftest import until
from muster.torchrun import rounds
from muster.torchrun.rounds import Broken, Closed, Decision, TimedOut
from nodes_in_memory import Memory, Player, all_join


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "PAUSE", 0.01)


@pytest.fixture
def keys() -> Iterator[Memory]:
    yield Memory()


def test_nodes_meet_and_one_of_them_makes_the_key_space(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b")
    first, second = all_join(b, a)
    assert first == second
    assert first.number == 0 and first.nodes == ["a", "b"]
    assert sorted(a.prepared + b.prepared) == [0]
    assert not a.rounds.waiting() and not a.rounds.is_closed()


def test_more_than_the_fewest_are_waited_for_in_the_last_call(keys: Memory) -> None:
    a, b = Player(keys, "a", 1, 3, last_call=0.5).begin(), Player(keys, "b", 1, 3, last_call=0.5).begin()
    assert a.end() == b.end()
    assert a.end().nodes == ["a", "b"]


def test_too_few_is_an_error_that_counts(keys: Memory) -> None:
    a = Player(keys, "a", 2, 4, join_timeout=0.2).begin()
    with pytest.raises(TimedOut, match="round 0 of 'job' .* 0.2 s: 1 of 2 to 4 nodes have come$"):
        a.end()


def test_one_who_comes_again_brings_the_others_along(keys: Memory) -> None:
    players = [Player(keys, name, 3, 3) for name in "abc"]
    all_join(*players)
    players[2].begin()
    until(lambda: players[0].rounds.waiting() and players[1].rounds.waiting(), "the others hear it")
    assert players[2].is_waiting()
    players[0].begin()
    players[1].begin()
    worlds = [p.end() for p in players]
    assert worlds[0] == worlds[1] == worlds[2] and worlds[0].number == 1 and worlds[0].nodes == ["a", "b", "c"]
    assert not any(p.rounds.waiting() for p in players)
    assert sorted(n for p in players for n in p.prepared) == [0, 1]


def test_a_dead_node_is_left_behind(keys: Memory) -> None:
    a, b = Player(keys, "a", 1), Player(keys, "b", 1)
    all_join(a, b)
    a.die()
    assert b.begin().end().nodes == ["b"]
    assert "torchrun/job/nodes/a" not in keys.keys, "nobody asks for it any more"


def test_a_node_that_says_no_number_has_not_come(keys: Memory) -> None:
    keys.put("torchrun/job/nodes/stranger", '{"round": "0"}')
    assert all_join(Player(keys, "a"), Player(keys, "b"))[0].nodes == ["a", "b"]


def test_a_node_that_is_gone_makes_the_others_begin_anew(keys: Memory) -> None:
    players = [Player(keys, name, 2, 3) for name in "abc"]
    all_join(*players)
    players[2].die()
    until(lambda: players[0].rounds.waiting() and players[1].rounds.waiting(), "the others miss it")
    worlds = all_join(*players[:2])
    assert worlds[0].nodes == worlds[1].nodes == ["a", "b"]


def test_who_is_gone_is_not_missed_by_too_few_nor_before_it_is_sure(keys: Memory) -> None:
    for least, is_sure, waits in (2, True, False), (1, False, False), (1, True, True):
        a, b = (Player(keys, name, least, job=f"{least}{is_sure}", interval=0.3, attempts=1000) for name in "ab")
        all_join(a, b)
        b.rounds.leave()
        a.rounds._hear(is_sure)
        assert a.rounds.waiting() == waits
        a.rounds.leave()


def test_who_is_alive_in_the_round_before_is_waited_for(keys: Memory) -> None:
    a, b = Player(keys, "a", 1), Player(keys, "b", 1, join_timeout=0.7)
    all_join(a, b)
    with pytest.raises(TimedOut, match="1 of 1 to 2 nodes have come, a is in the round before"):
        b.begin().end()


def test_who_leaves_is_not_waited_for(keys: Memory) -> None:
    a, b = Player(keys, "a", 1, attempts=1000), Player(keys, "b", 1, attempts=1000)
    all_join(a, b)
    a.rounds.leave()
    assert b.begin().end().nodes == ["b"]


def test_a_late_one_is_let_in_where_there_is_room(keys: Memory) -> None:
    a = Player(keys, "b", 1)
    assert a.begin().end().nodes == ["b"]
    late = Player(keys, "a", 1).begin()
    until(a.rounds.waiting, "the other hears it")
    a.begin()
    assert a.end() == late.end()
    assert a.end().nodes == ["b", "a"], "who was there keeps its rank"


def test_a_late_one_disturbs_nobody_where_there_is_no_room(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b")
    all_join(a, b)
    late = Player(keys, "late").begin()
    until(lambda: "torchrun/job/nodes/late" in keys.keys and late.rounds._round == 1, "it waits")
    a.begin()
    b.begin()
    assert a.end().nodes == b.end().nodes == ["a", "b"], "who was there goes first"
    assert late.is_waiting() and "torchrun/job/wanted/000000002" not in keys.keys
    b.die()
    until(a.rounds.waiting, "the late one asks when there is room")
    assert a.begin().end().nodes == late.end().nodes == ["a", "late"]


def test_who_finds_no_place_decides_nothing(keys: Memory) -> None:
    for name in "ab":
        keys.put(f"torchrun/job/nodes/{name}", '{"round": 0}')
    with pytest.raises(TimedOut):
        Player(keys, "c", join_timeout=0.2).begin().end()
    assert "torchrun/job/rounds/000000000" not in keys.keys


def test_the_last_call_begins_anew_with_enough_nodes(keys: Memory) -> None:
    a, b = (Player(keys, name, 2, 3, last_call=1.0).begin() for name in "ab")
    until(lambda: a.rounds._round == b.rounds._round == 0, "they have come")
    b.rounds.leave()
    since = time.monotonic()
    until(lambda: time.monotonic() > since + 1.1, "the last call of two would be over")
    c = Player(keys, "c", 2, 3, last_call=1.0).begin()
    until(lambda: c.rounds._round == 0, "it has come")
    d = Player(keys, "d", 2, 3, last_call=1.0).begin()
    assert a.end() == c.end() == d.end()


def test_a_closed_job_takes_nobody(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b")
    all_join(a, b)
    a.rounds.close(5)
    a.rounds.close(5)
    assert b.rounds.is_closed()
    keys.put("torchrun/job/wanted/000000001", "{}")
    b.rounds._hear(True)
    assert not b.rounds.waiting(), "who is closed need not come"
    with pytest.raises(Closed, match="the job 'job' has been closed by a$"):
        b.begin().end()
    with pytest.raises(Closed, match="nodes of it are still there"):
        Player(keys, "late").begin().end()


def test_who_waits_hears_that_the_job_is_closed(keys: Memory) -> None:
    a = Player(keys, "a").begin()
    until(lambda: a.rounds._round == 0, "it waits")
    Player(keys, "b").rounds.close(5)
    with pytest.raises(Closed):
        a.end()


def test_a_closed_job_may_run_again_when_its_nodes_have_gone(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b", interval=20.0)
    all_join(a, b)
    a.rounds.close(5, of_world=True)
    a.rounds.leave()
    again = [Player(keys, name, attempts=1000).begin() for name in "cd"]
    looks = keys.looks
    until(lambda: keys.looks > looks + 20, "they look")
    assert again[0].is_waiting() and again[1].is_waiting(), "one of before may not have ended yet"
    b.rounds.close(5, of_world=True)
    b.rounds.leave()
    assert b.rounds.is_closed() and "torchrun/job/nodes/b" not in keys.keys
    assert again[0].end() == again[1].end()
    assert again[0].end().nodes == ["c", "d"]


def test_the_last_one_takes_the_keys_along(keys: Memory) -> None:
    players = [Player(keys, name) for name in "ab"]
    all_join(*players)
    for p in players:
        p.rounds.close(5, of_world=True)
        p.rounds.leave()
    assert keys.keys == {}


def test_one_who_waited_in_vain_closes_nothing(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b")
    all_join(a, b)
    late = Player(keys, "late", join_timeout=0.1)
    with pytest.raises(TimedOut):
        late.begin().end()
    late.rounds.close(5, of_world=True)
    late.rounds.leave()
    assert not a.rounds.is_closed()


def test_one_cluster_has_one_job(keys: Memory) -> None:
    all_join(*[Player(keys, name, job="x/1") for name in "ab"])
    with pytest.raises(Broken, match="the job 'x/1' of torchrun uses the store.*--rdzv-conf cluster=NAME"):
        Player(keys, "c", job="w").begin().end()


def test_of_two_jobs_at_one_time_one_goes_on(keys: Memory) -> None:
    one, other = Player(keys, "a", job="one").begin(), Player(keys, "b", job="other").begin()
    with pytest.raises(Broken, match="the job 'one'"):
        other.end()
    assert Player(keys, "c", job="one").begin().end() == one.end()
    other.rounds.leave()


def test_a_job_that_died_is_forgotten(keys: Memory) -> None:
    before = [Player(keys, name, job="before") for name in "ab"]
    all_join(*before)
    for p in before:
        p.die()
    all_join(*[Player(keys, name, job="after") for name in "cd"])
    assert not [k for k in keys.keys if k.startswith("torchrun/before/")]


def test_a_run_that_died_may_run_again(keys: Memory) -> None:
    before = [Player(keys, name) for name in "ab"]
    all_join(*before)
    for p in before:
        p.die()
    world, _ = all_join(*[Player(keys, name) for name in "cd"])
    assert world.number == 1 and world.nodes == ["c", "d"]


def test_who_decides_and_dies_costs_a_round(keys: Memory) -> None:
    killed = threading.Event()

    def prepare(world: Decision) -> None:
        if not killed.is_set():
            killed.set()
            for p in players:
                if p.rounds.node == world.by:
                    p.die()
                    raise RuntimeError("it is dead")

    players = [Player(keys, name, 2, 3, prepare=prepare) for name in "abc"]
    for p in players:
        p.begin()
    until(killed.is_set, "one has decided")
    living = [p for p in players if not p.keys.gone]
    worlds = [p.end() for p in living]
    assert worlds[0] == worlds[1] and worlds[0].nodes == [p.rounds.node for p in living]


def test_a_server_that_has_lost_its_keys_is_told_them_again(keys: Memory) -> None:
    a, b = Player(keys, "a", 1), Player(keys, "b", 1)
    all_join(a, b)
    keys.keys.clear()
    until(lambda: {"torchrun/job/nodes/a", "torchrun/job/rounds/000000000"} <= set(keys.keys), "it is told")
    a.begin()
    until(b.rounds.waiting, "the other hears it")
    assert b.begin().end() == a.end()
    assert a.end().number == 1


def test_a_round_that_nobody_knows_any_more_does_not_come_again(keys: Memory) -> None:
    players = [Player(keys, name) for name in "ab"]
    all_join(*players)
    for key in [k for k in keys.keys if "/nodes/" not in k]:
        keys.delete(key)
    assert {world.number for world in all_join(*players)} == {1}


def test_a_server_that_is_away_is_waited_for(keys: Memory) -> None:
    a = Player(keys, "a").begin()
    until(lambda: a.rounds._round == 0, "it waits")
    a.keys.gone = True
    b = Player(keys, "b").begin()
    a.keys.gone = False
    assert a.end() == b.end()


def test_what_is_no_key_of_nodes_is_named(keys: Memory) -> None:
    keys.put("torchrun/job/rounds/000000003", "[]")
    with pytest.raises(Broken, match="torchrun/job/rounds/000000003 is no object of JSON"):
        Player(keys, "a").begin().end()
    keys.put("torchrun/job/rounds/000000003", "{}")
    with pytest.raises(Broken, match="torchrun/job/rounds/000000003 has no nodes"):
        Player(keys, "b").begin().end()


def test_old_rounds_are_forgotten(keys: Memory) -> None:
    a = Player(keys, "a", 1, 1)
    for _ in range(rounds.ROUNDS_KEPT + 4):
        a.begin().end()
    kept = [k for k in keys.keys if "/rounds/" in k]
    assert len(kept) == rounds.ROUNDS_KEPT
    assert json.loads(keys.keys[max(kept)].value)["nodes"] == ["a"]


def test_whoever_comes_and_goes_sees_the_same_rounds(keys: Memory) -> None:
    """Five nodes come again at random, one after another dies: those of a round agree on it."""
    chance = random.Random(7)
    seen: dict[int, Decision] = {}
    living: list[Player] = [Player(keys, f"n{i}", 2, 5) for i in range(5)]
    for turn in range(8):
        chance.shuffle(living)
        if turn in (3, 5) and len(living) > 2:
            living.pop().die()
        first, *others = living
        first.begin()
        for p in others:
            if turn:
                until(p.rounds.waiting, "it is asked")
            p.begin()
        for p in living:
            world = p.end()
            assert seen.setdefault(world.number, world) == world and p.rounds.node in world.nodes
            assert len(world.nodes) == len(living)
