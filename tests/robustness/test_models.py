"""Each model accepts a history that the promises allow, and reports the same history with one observation changed."""
from __future__ import annotations

import pathlib
import sys
from typing import Any, Callable

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import models
from models import Record, Verdict


def call(**changed: Any) -> list[Record]:
    return [{"kind": "call", "id": "a", "expected": 8, "outcome": "ok", "value": 8, "call": 1, "ret": 2, **changed}]


def object_history(**changed: Any) -> list[Record]:
    entry = {"kind": "object_call", "object": "o", "id": "a", "outcome": "ok", "position": 1, "call": 1, "ret": 2}
    return [{**entry, **changed}, {**entry, "id": "b", "position": 2},
            {"kind": "object_log", "object": "o", "calls": ["a", "b"]}]


def variable(**changed: Any) -> list[Record]:
    return [{"kind": "variable", "variable": "v", "acknowledged": 3, "unknown": 1, "values": [4, 4], **changed}]


def job(**changed: Any) -> dict[str, Record]:
    return {"j": {"state": "SUCCEEDED", "values": [1, 2], "error": None, **changed}}


JOB = [{"kind": "job", "id": "j", "numbers": [1, 2]}]


def barrier(agent: str, begun: int, ended: int, **changed: Any) -> list[Record]:
    record = {"kind": "barrier", "agent": agent, "service": 7, "call": begun}
    return [{**record, "outcome": "unknown"}, {**record, "outcome": "ok", "use": 0, "ret": ended, **changed}]


def token(op: str, outcome: str, begun: int, ended: int, name: str = "t") -> Record:
    return {"kind": "token", "op": op, "token": name, "outcome": outcome, "call": begun, "ret": ended}


CREATED = token("create", "ok", 0, 1)


def stream(*parts: tuple[int, str, list[list[Any]]]) -> list[Record]:
    return [{"kind": "stream", "id": "j", "expected": [5, 6], "outcome": "ok", "call": 1, "ret": 2,
             "parts": [{"from": first, "outcome": outcome, "lines": lines} for first, outcome, lines in parts]}]


FIRST, SECOND = [0, "SUCCEEDED", 5], [1, "SUCCEEDED", 6]


def leader(server: int, begun: int, ended: int) -> Record:
    return {"kind": "leader", "server": server, "start": "1", "call": begun, "ret": ended}


def rank(attempt: str, alone: bool = True) -> Record:
    return {"program": "p", "rank": 0, "attempt": attempt, "event": "start", "alone": alone}


RAN = [{"call": "a", "event": "end"}]
AGENTS = ["x", "y"]


def batch(**changed: Any) -> list[Record]:
    return [{"kind": "batch", "marks": "m", "first": 2, "expected": [8, 15, 22], "values": [8, 15, 22], "call": 1, "ret": 2,
             **changed}]


def batches(records: list[Record], marks: bytes = b"\0\0\1\1\2") -> Verdict:
    return models.calls(records, [], lambda name: marks)


ALLOWED: dict[str, Callable[[], Verdict]] = {
    "batch of calls": lambda: batches(batch()),
    "batch with a call that lost three workers": lambda: batches(
        batch(values=[8, None, 22]) + call(id="m-3", outcome="aborted"), b"\0\0\1\0\1"),
    "call": lambda: models.calls(call(), RAN),
    "call without an outcome": lambda: models.calls(call(outcome="unknown"), RAN),
    "object": lambda: models.objects(object_history()),
    "addition without an outcome counts or not": lambda: models.variables(variable() + variable(values=[3])),
    "dataset": lambda: models.datasets([{"kind": "dataset", "dataset": "d", "splits": 1}], [{"dataset": "d", "element": 0}]),
    "job": lambda: models.jobs(JOB, job()),
    "barrier releases all": lambda: models.barriers(barrier("x", 1, 9) + barrier("y", 5, 8), AGENTS),
    "barrier releases a killed agent": lambda: models.barriers(barrier("x", 1, 9) + barrier("y", 5, 8)[:1], AGENTS),
    "barrier fails for all": lambda: models.barriers(
        barrier("x", 1, 9, outcome="failed") + barrier("y", 5, 8, outcome="failed"), AGENTS),
    "token that is revoked and refused": lambda: models.tokens(
        [CREATED, token("use", "works", 2, 3), token("revoke", "ok", 4, 5), token("use", "refused", 6, 7)]),
    "token that works beside its end": lambda: models.tokens(
        [CREATED, token("revoke", "ok", 4, 8), token("use", "works", 5, 9)]),
    "token with an unknown end": lambda: models.tokens(
        [CREATED, token("revoke", "unknown", 4, 5), token("use", "works", 6, 7), token("use", "refused", 8, 9)]),
    "token whose unknown end was undone": lambda: models.tokens([
        CREATED, token("revoke", "unknown", 2, 3), token("use", "refused", 4, 5), token("use", "works", 6, 7)]),
    "stream": lambda: models.streams(stream((0, "complete", [FIRST, SECOND]))),
    "stream with a break": lambda: models.streams(stream((0, "broken", [FIRST]), (1, "complete", [SECOND]))),
    "leaders": lambda: models.leaders([leader(0, 1, 2), leader(0, 3, 5), leader(1, 4, 6), leader(1, 7, 8)]),
    "ranks": lambda: models.ranks([rank("0"), rank("1")]),
    "program": lambda: models.programs([{"kind": "program_ended", "name": "p", "state": "SUCCEEDED"}]),
}

FORBIDDEN: dict[str, Callable[[], Verdict]] = {
    "call of a batch has the value of another call": lambda: batches(batch(values=[8, 22, 15])),
    "call of a batch with a lost call has the value of another call": lambda: batches(batch(values=[15, None, 22])),
    "call of a batch never ran": lambda: batches(batch(), b"\0\0\1\0\1"),
    "call of a batch is not among the marks": lambda: batches(batch(), b"\0\0\1\1"),
    "batch ends twice": lambda: batches(batch() + batch()),
    "batch lacks a value": lambda: batches(batch(values=[8, 15])),
    "call has the value of another call": lambda: models.calls(call(value=9), RAN),
    "call fails": lambda: models.calls(call(outcome="error", error="ValueError"), RAN),
    "call never ends": lambda: models.calls(call(outcome="stuck", error="WaitTimeout"), RAN),
    "call ends twice": lambda: models.calls(call() + call(), RAN),
    "call has a value and never ran": lambda: models.calls(call(), []),
    "method runs twice": lambda: models.objects([*object_history()[:2], {
        "kind": "object_log", "object": "o", "calls": ["a", "b", "a"]}]),
    "acknowledged method is lost": lambda: models.objects([*object_history()[:2], {
        "kind": "object_log", "object": "o", "calls": ["a"]}]),
    "methods change their order": lambda: models.objects(object_history(position=3)),
    "acknowledged addition is lost": lambda: models.variables(variable(values=[2])),
    "addition counts twice": lambda: models.variables(variable(values=[5])),
    "split of a finished dataset is missing": lambda: models.datasets(
        [{"kind": "dataset", "dataset": "d", "splits": 2}], [{"dataset": "d", "element": 0}]),
    "acknowledged job is lost": lambda: models.jobs(JOB, {}),
    "job fails": lambda: models.jobs(JOB, job(state="FAILED")),
    "job has other values": lambda: models.jobs(JOB, job(values=[2, 1])),
    "job changes after its end": lambda: models.jobs([
        {"kind": "job_seen", "id": "j", "state": state, "counts": {}} for state in ("SUCCEEDED", "FAILED")], {}),
    "barrier releases one and fails one": lambda: models.barriers(
        barrier("x", 1, 9) + barrier("y", 5, 8, outcome="failed"), AGENTS),
    "barrier releases before the last arrives": lambda: models.barriers(barrier("x", 1, 4) + barrier("y", 5, 8), AGENTS),
    "barrier releases without an agent": lambda: models.barriers(barrier("x", 1, 4), AGENTS),
    "agent passes a use twice": lambda: models.barriers(
        barrier("x", 1, 9) + barrier("y", 5, 8) + barrier("y", 10, 11), AGENTS),
    "acknowledged token is refused": lambda: models.tokens([CREATED, token("use", "refused", 2, 3)]),
    "revoked token works": lambda: models.tokens([CREATED, token("revoke", "ok", 2, 3), token("use", "works", 4, 5)]),
    "rotated token works": lambda: models.tokens([CREATED, token("rotate", "ok", 2, 3), token("use", "works", 4, 5)]),
    "stream has a gap": lambda: models.streams(stream((0, "complete", [SECOND]))),
    "stream repeats a value": lambda: models.streams(stream((0, "complete", [FIRST, FIRST, SECOND]))),
    "stream repeats a value after a break": lambda: models.streams(
        stream((0, "broken", [FIRST]), (1, "complete", [FIRST, SECOND]))),
    "stream has another value": lambda: models.streams(stream((0, "complete", [FIRST, [1, "SUCCEEDED", 7]]))),
    "stream ends early without an error": lambda: models.streams(stream((0, "complete", [FIRST]))),
    "two servers lead at one time": lambda: models.leaders([leader(0, 1, 2), leader(1, 3, 4), leader(0, 5, 6)]),
    "two attempts of a rank run": lambda: models.ranks([rank("0"), rank("1", alone=False)]),
    "rank starts twice in an attempt": lambda: models.ranks([rank("0"), rank("0")]),
    "program is lost": lambda: models.programs([{"kind": "program_missing", "name": "p"}]),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_allowed_history_has_no_fault(name: str) -> None:
    assert ALLOWED[name]().faults == []


@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden_history_has_a_fault(name: str) -> None:
    assert len(FORBIDDEN[name]().faults) > 0


def test_calls_of_a_batch_count_once() -> None:
    assert batches(batch(values=[8, None, 22]) + call(id="m-3", outcome="aborted")).operations == 3


def test_operations_without_an_outcome_are_listed() -> None:
    assert len(models.calls(call(outcome="unknown"), RAN).unknown) == 1
    assert len(models.variables(variable()).unknown) == 1
    assert len(models.barriers(barrier("x", 1, 2)[:1], AGENTS).unknown) == 1
    assert len(models.tokens([CREATED, token("revoke", "unknown", 4, 5)]).unknown) == 1
