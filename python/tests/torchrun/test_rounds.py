"""Membership of torchrun nodes in rounds, without torch and without a server."""
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


def test_nodes_join_a_round_and_one_creates_the_key_space(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b")
    first, second = all_join(b, a)
    assert first == second
    assert first.number == 0 and first.nodes == ["a", "b"]
    assert sorted(a.prepared + b.prepared) == [0]
    assert not a.rounds.waiting() and not a.rounds.is_closed()


def test_additional_nodes_can_join_during_the_last_call(keys: Memory) -> None:
    a, b = Player(keys, "a", 1, 3, last_call=0.5).begin(), Player(keys, "b", 1, 3, last_call=0.5).begin()
    assert a.end() == b.end()
    assert a.end().nodes == ["a", "b"]


def test_too_few_nodes_are_a_timeout_with_their_number(keys: Memory) -> None:
    a = Player(keys, "a", 2, 4, join_timeout=0.2).begin()
    with pytest.raises(TimedOut, match="round 0 of 'job' .* 0.2 s: 1 of 2 to 4 nodes have joined$"):
        a.end()


def test_rejoining_node_starts_a_new_round_for_all(keys: Memory) -> None:
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


def test_dead_node_is_left_out_of_the_next_round(keys: Memory) -> None:
    a, b = Player(keys, "a", 1), Player(keys, "b", 1)
    all_join(a, b)
    a.die()
    assert b.begin().end().nodes == ["b"]
    assert "torchrun/job/nodes/a" not in keys.keys, "the key of the dead node is deleted"


def test_node_without_a_round_number_does_not_count(keys: Memory) -> None:
    keys.put("torchrun/job/nodes/stranger", '{"round": "0"}')
    assert all_join(Player(keys, "a"), Player(keys, "b"))[0].nodes == ["a", "b"]


def test_lost_node_starts_a_new_round_for_the_others(keys: Memory) -> None:
    players = [Player(keys, name, 2, 3) for name in "abc"]
    all_join(*players)
    players[2].die()
    until(lambda: players[0].rounds.waiting() and players[1].rounds.waiting(), "the others miss it")
    worlds = all_join(*players[:2])
    assert worlds[0].nodes == worlds[1].nodes == ["a", "b"]


def test_lost_node_is_ignored_if_too_few_remain_or_the_loss_is_uncertain(keys: Memory) -> None:
    for least, is_sure, waits in (2, True, False), (1, False, False), (1, True, True):
        a, b = (Player(keys, name, least, job=f"{least}{is_sure}", interval=0.3, attempts=1000) for name in "ab")
        all_join(a, b)
        b.rounds.leave()
        a.rounds._hear(is_sure)
        assert a.rounds.waiting() == waits
        a.rounds.leave()


def test_node_that_is_alive_in_the_previous_round_is_waited_for(keys: Memory) -> None:
    a, b = Player(keys, "a", 1), Player(keys, "b", 1, join_timeout=0.7)
    all_join(a, b)
    with pytest.raises(TimedOut, match="1 of 1 to 2 nodes have joined; still in the previous round: a"):
        b.begin().end()


def test_node_that_leaves_is_not_waited_for(keys: Memory) -> None:
    a, b = Player(keys, "a", 1, attempts=1000), Player(keys, "b", 1, attempts=1000)
    all_join(a, b)
    a.rounds.leave()
    assert b.begin().end().nodes == ["b"]


def test_late_node_joins_if_there_is_room(keys: Memory) -> None:
    a = Player(keys, "b", 1)
    assert a.begin().end().nodes == ["b"]
    late = Player(keys, "a", 1).begin()
    until(a.rounds.waiting, "the other hears it")
    a.begin()
    assert a.end() == late.end()
    assert a.end().nodes == ["b", "a"], "earlier nodes keep their ranks"


def test_late_node_waits_without_disturbing_a_full_round(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b")
    all_join(a, b)
    late = Player(keys, "late").begin()
    until(lambda: "torchrun/job/nodes/late" in keys.keys and late.rounds._round == 1, "it waits")
    a.begin()
    b.begin()
    assert a.end().nodes == b.end().nodes == ["a", "b"], "earlier nodes have priority"
    assert late.is_waiting() and "torchrun/job/wanted/000000002" not in keys.keys
    b.die()
    until(a.rounds.waiting, "the late one asks when there is room")
    assert a.begin().end().nodes == late.end().nodes == ["a", "late"]


def test_node_without_a_place_decides_nothing(keys: Memory) -> None:
    for name in "ab":
        keys.put(f"torchrun/job/nodes/{name}", '{"round": 0}')
    with pytest.raises(TimedOut):
        Player(keys, "c", join_timeout=0.2).begin().end()
    assert "torchrun/job/rounds/000000000" not in keys.keys


def test_last_call_starts_again_with_enough_nodes(keys: Memory) -> None:
    a, b = (Player(keys, name, 2, 3, last_call=1.0).begin() for name in "ab")
    until(lambda: a.rounds._round == b.rounds._round == 0, "they have come")
    b.rounds.leave()
    since = time.monotonic()
    until(lambda: time.monotonic() > since + 1.1, "the last call of two would be over")
    c = Player(keys, "c", 2, 3, last_call=1.0).begin()
    until(lambda: c.rounds._round == 0, "it has come")
    d = Player(keys, "d", 2, 3, last_call=1.0).begin()
    assert a.end() == c.end() == d.end()


def test_closed_job_accepts_no_nodes(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b")
    all_join(a, b)
    a.rounds.close(5)
    a.rounds.close(5)
    assert b.rounds.is_closed()
    keys.put("torchrun/job/wanted/000000001", "{}")
    b.rounds._hear(True)
    assert not b.rounds.waiting(), "a closed job needs no new round"
    with pytest.raises(Closed, match="the job 'job' has been closed by a$"):
        b.begin().end()
    with pytest.raises(Closed, match="some of its nodes are still connected"):
        Player(keys, "late").begin().end()


def test_waiting_node_notices_that_the_job_is_closed(keys: Memory) -> None:
    a = Player(keys, "a").begin()
    until(lambda: a.rounds._round == 0, "it waits")
    Player(keys, "b").rounds.close(5)
    with pytest.raises(Closed):
        a.end()


def test_closed_job_can_run_again_after_its_nodes_have_left(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b", interval=20.0)
    all_join(a, b)
    a.rounds.close(5, of_world=True)
    a.rounds.leave()
    again = [Player(keys, name, attempts=1000).begin() for name in "cd"]
    looks = keys.looks
    until(lambda: keys.looks > looks + 20, "they look")
    assert again[0].is_waiting() and again[1].is_waiting(), "a node of the earlier run may not have ended yet"
    b.rounds.close(5, of_world=True)
    b.rounds.leave()
    assert b.rounds.is_closed() and "torchrun/job/nodes/b" not in keys.keys
    assert again[0].end() == again[1].end()
    assert again[0].end().nodes == ["c", "d"]


def test_last_node_deletes_the_keys(keys: Memory) -> None:
    players = [Player(keys, name) for name in "ab"]
    all_join(*players)
    for p in players:
        p.rounds.close(5, of_world=True)
        p.rounds.leave()
    assert keys.keys == {}


def test_node_that_waited_without_success_closes_nothing(keys: Memory) -> None:
    a, b = Player(keys, "a"), Player(keys, "b")
    all_join(a, b)
    late = Player(keys, "late", join_timeout=0.1)
    with pytest.raises(TimedOut):
        late.begin().end()
    late.rounds.close(5, of_world=True)
    late.rounds.leave()
    assert not a.rounds.is_closed()


def test_cluster_has_one_job_at_a_time(keys: Memory) -> None:
    all_join(*[Player(keys, name, job="x/1") for name in "ab"])
    with pytest.raises(Broken, match="the torchrun job 'x/1' already uses the TCPStore.*--rdzv-conf cluster=NAME"):
        Player(keys, "c", job="w").begin().end()


def test_one_of_two_simultaneous_jobs_continues(keys: Memory) -> None:
    one, other = Player(keys, "a", job="one").begin(), Player(keys, "b", job="other").begin()
    with pytest.raises(Broken, match="the torchrun job 'one'"):
        other.end()
    assert Player(keys, "c", job="one").begin().end() == one.end()
    other.rounds.leave()


def test_keys_of_a_dead_job_are_forgotten(keys: Memory) -> None:
    before = [Player(keys, name, job="before") for name in "ab"]
    all_join(*before)
    for p in before:
        p.die()
    all_join(*[Player(keys, name, job="after") for name in "cd"])
    assert not [k for k in keys.keys if k.startswith("torchrun/before/")]


def test_dead_run_can_run_again(keys: Memory) -> None:
    before = [Player(keys, name) for name in "ab"]
    all_join(*before)
    for p in before:
        p.die()
    world, _ = all_join(*[Player(keys, name) for name in "cd"])
    assert world.number == 1 and world.nodes == ["c", "d"]


def test_death_of_the_deciding_node_costs_one_round(keys: Memory) -> None:
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


def test_lost_keys_are_written_to_the_server_again(keys: Memory) -> None:
    a, b = Player(keys, "a", 1), Player(keys, "b", 1)
    all_join(a, b)
    keys.keys.clear()
    until(lambda: {"torchrun/job/nodes/a", "torchrun/job/rounds/000000000"} <= set(keys.keys), "the keys are written again")
    a.begin()
    until(b.rounds.waiting, "the other hears it")
    assert b.begin().end() == a.end()
    assert a.end().number == 1


def test_forgotten_round_does_not_return(keys: Memory) -> None:
    players = [Player(keys, name) for name in "ab"]
    all_join(*players)
    for key in [k for k in keys.keys if "/nodes/" not in k]:
        keys.delete(key)
    assert {world.number for world in all_join(*players)} == {1}


def test_unreachable_server_is_waited_for(keys: Memory) -> None:
    a = Player(keys, "a").begin()
    until(lambda: a.rounds._round == 0, "it waits")
    a.keys.gone = True
    b = Player(keys, "b").begin()
    a.keys.gone = False
    assert a.end() == b.end()


def test_invalid_node_key_is_named(keys: Memory) -> None:
    keys.put("torchrun/job/rounds/000000003", "[]")
    with pytest.raises(Broken, match="torchrun/job/rounds/000000003 is not a JSON object"):
        Player(keys, "a").begin().end()
    keys.put("torchrun/job/rounds/000000003", "{}")
    with pytest.raises(Broken, match="torchrun/job/rounds/000000003 contains no list of nodes"):
        Player(keys, "b").begin().end()


def test_old_rounds_are_deleted(keys: Memory) -> None:
    a = Player(keys, "a", 1, 1)
    for _ in range(rounds.ROUNDS_KEPT + 4):
        a.begin().end()
    kept = [k for k in keys.keys if "/rounds/" in k]
    assert len(kept) == rounds.ROUNDS_KEPT
    assert json.loads(keys.keys[max(kept)].value)["nodes"] == ["a"]


def test_all_nodes_of_a_round_agree_on_its_members(keys: Memory) -> None:
    """Five nodes rejoin at random, and one after another dies. The nodes of a round always agree on its members."""
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
