"""Models that decide whether the histories of calls, jobs, objects, barriers and ranks are explained by the promises
of the documentation. Keys are decided by Porcupine (history/)."""
from __future__ import annotations

import collections
import dataclasses
import pathlib
from typing import Any, Callable, Iterable

from recorder import read

Record = dict[str, Any]


@dataclasses.dataclass
class Verdict:
    """Result of one model. `faults` are observations that no promise allows; `unknown` are the records of operations
    without a known outcome."""

    kind: str
    operations: int = 0
    unknown: list[Record] = dataclasses.field(default_factory=list)
    faults: list[str] = dataclasses.field(default_factory=list)


def calls(records: Iterable[Record], effects: Iterable[Record], marks: Callable[[str], bytes] = lambda name: b"") -> Verdict:
    """Every call ends exactly once, with the value of its own arguments, after it ran.

    A record of kind `batch` has the values of many calls with consecutive numbers, and null for a call that has a record
    of its own. `marks` returns how often each number of a client has run, in one byte each."""
    verdict = Verdict("calls")
    ended = {e["call"] for e in effects if e.get("event") == "end" and "call" in e}
    seen: set[Any] = set()
    ran: dict[str, bytes] = {}
    for r in records:
        if r["kind"] == "batch":
            name = r["marks"]
            if name not in ran:
                ran[name] = marks(name)
            _batch(verdict, r, ran[name], seen)
            continue
        if r["kind"] != "call":
            continue
        verdict.operations += 1
        if r["id"] in seen:
            verdict.faults.append(f"call {r['id']} has two outcomes")
        seen.add(r["id"])
        if r["outcome"] == "unknown":
            verdict.unknown.append(r)
        elif r["outcome"] == "aborted":
            pass  # lost three workers, which the nemesis kills on purpose
        elif r["outcome"] in ("error", "stuck"):
            verdict.faults.append(f"call {r['id']} failed: {r['outcome']}, {r['error']}")
        elif r["value"] != r["expected"]:
            verdict.faults.append(f"call {r['id']} returned {r['value']} instead of {r['expected']}")
        elif r["id"] not in ended and r["id"] + "-left" not in ended:
            verdict.faults.append(f"call {r['id']} has a value but never ran")
    return verdict


def _batch(verdict: Verdict, r: Record, ran: bytes, seen: set[Any]) -> None:
    """Checks the calls of one batch that have a value."""
    name, first, values, expected = r["marks"], r["first"], r["values"], r["expected"]
    verdict.operations += len(values) - values.count(None)
    if (name, first) in seen or len(values) != len(expected):
        verdict.faults.append(f"batch {first} of {name} has two outcomes, or not one of each call")
    seen.add((name, first))
    counts = ran[first:first + len(values)]
    if values == expected and len(counts) == len(values) and 0 not in counts:
        return
    for n, (value, wanted) in enumerate(zip(values, expected)):
        if value is None:
            continue
        if value != wanted:
            verdict.faults.append(f"call {first + n} of {name} returned {value} instead of {wanted}")
        elif n >= len(counts) or not counts[n]:
            verdict.faults.append(f"call {first + n} of {name} has a value but never ran")


def objects(records: Iterable[Record]) -> Verdict:
    """A method runs at most once; an acknowledged one ran once, in the order of its caller."""
    verdict = Verdict("objects")
    logs: dict[str, list[str]] = {}
    acknowledged: dict[str, list[tuple[str, int]]] = collections.defaultdict(list)
    for r in records:
        if r["kind"] == "object_log":
            logs[r["object"]] = r["calls"]
        elif r["kind"] == "object_call":
            verdict.operations += 1
            if r["outcome"] == "ok":
                acknowledged[r["object"]].append((r["id"], r["position"]))
            else:
                verdict.unknown.append(r)
    for name, entries in acknowledged.items():
        for (_, before), (call, position) in zip(entries, entries[1:]):
            if position != before + 1:
                verdict.faults.append(f"object {name}: call {call} has position {position} after {before}")
        log = logs.get(name)
        if log is None:
            continue  # the object was lost with its process
        twice = [call for call, count in collections.Counter(log).items() if count > 1]
        if twice:
            verdict.faults.append(f"object {name} ran twice: {twice[:5]}")
        for call, position in entries:
            if position > len(log) or log[position - 1] != call:
                verdict.faults.append(f"object {name}: acknowledged call {call} is not at position {position}")
    return verdict


def variables(records: Iterable[Record]) -> Verdict:
    """The value of a variable is the number of acknowledged additions, plus some of those without an outcome."""
    verdict = Verdict("variables")
    for r in records:
        if r["kind"] != "variable":
            continue
        verdict.operations += r["acknowledged"] + r["unknown"]
        verdict.unknown += [{"kind": "variable", "variable": r["variable"]}] * r["unknown"]
        low, high = r["acknowledged"], r["acknowledged"] + r["unknown"]
        for value in r.get("values", []):
            if not low <= value <= high:
                verdict.faults.append(f"variable {r['variable']} is {value} after {low} to {high} additions")
    return verdict


def datasets(records: Iterable[Record], effects: Iterable[Record]) -> Verdict:
    """Every split of a dataset that is done was worked on."""
    verdict = Verdict("datasets")
    worked: dict[str, set[int]] = collections.defaultdict(set)
    for e in effects:
        if "dataset" in e:
            worked[e["dataset"]].add(e["element"])
    for r in records:
        if r["kind"] == "dataset":
            verdict.operations += r["splits"]
            missing = set(range(r["splits"])) - worked[r["dataset"]]
            if missing:
                verdict.faults.append(f"dataset {r['dataset']} is done without splits {sorted(missing)[:10]}")
    return verdict


def jobs(records: Iterable[Record], final: dict[str, Record] | None) -> Verdict:
    """An acknowledged job is never lost, ends, and keeps its outcome. `final` has each job after the last fault; None: the
    round ended before."""
    verdict = Verdict("jobs")
    outcomes: dict[str, tuple[str, Any]] = {}
    for r in records:
        if r["kind"] == "job":
            verdict.operations += 1
            if final is None:
                continue
            end = final.get(r["id"])
            if end is None:
                verdict.faults.append(f"job {r['id']} was acknowledged and is missing")
            elif end["state"] != "SUCCEEDED":
                verdict.faults.append(f"job {r['id']} ended as {end['state']}: {end.get('error')}")
            elif end["values"] != r["numbers"]:
                verdict.faults.append(f"job {r['id']} has values {end['values'][:5]} instead of {r['numbers'][:5]}")
        elif r["kind"] == "job_seen":
            verdict.operations += 1
            seen = (r["state"], r["counts"])
            if outcomes.setdefault(r["id"], seen) != seen:
                verdict.faults.append(f"job {r['id']} changed from {outcomes[r['id']]} to {seen} after its end")
        elif r["kind"] in ("job_missing", "job_refused"):
            verdict.faults.append(f"{r['kind']}: {r}")
    return verdict


def barriers(records: Iterable[Record], agents: list[str]) -> Verdict:
    """A use of a barrier releases all tasks or none, and no task before the last has arrived.

    Clients record a call as unknown before it begins, and with its outcome after its end."""
    verdict = Verdict("barriers")
    calls: dict[tuple[str, int], Record] = {}
    for r in records:
        if r.get("kind") == "barrier":
            calls[r["agent"], r["call"]] = r
    uses: dict[tuple[int, int], list[Record]] = collections.defaultdict(list)
    for r in calls.values():
        verdict.operations += 1
        if r["outcome"] == "unknown":
            verdict.unknown.append(r)
        else:
            uses[r["service"], r["use"]].append(r)
    for (service, use), ended in uses.items():
        name = f"barrier use {use} of service {service}"
        passed = [r["agent"] for r in ended if r["outcome"] == "ok"]
        failed = [r["agent"] for r in ended if r["outcome"] == "failed"]
        if passed and failed:
            verdict.faults.append(f"{name}: released {passed} and failed {failed}")
        if len(passed) != len(set(passed)):
            verdict.faults.append(f"{name}: an agent passed twice: {passed}")
        if not passed:
            continue
        first = min(r["ret"] for r in ended if r["outcome"] == "ok")
        for agent in agents:
            # The last call of each agent before the release is a call of this use, or has no outcome.
            before = [r for r in calls.values() if r["agent"] == agent and r["call"] <= first]
            last = max(before, key=lambda call: int(call["call"]), default=None)
            if last is None or (last not in ended and last["outcome"] != "unknown"):
                verdict.faults.append(f"{name}: released before {agent} arrived")
    return verdict


def leaders(records: Iterable[Record]) -> Verdict:
    """No two servers serve at one time: a server process never serves again after another one has served."""
    verdict = Verdict("leaders")
    lives: dict[tuple[int, str], list[Record]] = collections.defaultdict(list)
    for r in records:
        verdict.operations += 1
        lives[r["server"], r["start"]].append(r)
    spans = {life: (min(r["ret"] for r in seen), max(r["call"] for r in seen)) for life, seen in lives.items()}
    for life, (first, last) in spans.items():
        for other, seen in lives.items():
            between = [r for r in seen if other != life and r["call"] > first and r["ret"] < last]
            if between:
                verdict.faults.append(f"server {other[0]} served while server {life[0]} led, for example at {between[0]['call']}")
    return verdict


def streams(records: Iterable[Record]) -> Verdict:
    """A stream of results has each value once and in order, and ends after the last value or with an error.

    A part that a client reads after a break begins where the client asked it to begin."""
    verdict = Verdict("streams")
    for r in records:
        if r["kind"] != "stream":
            continue
        verdict.operations += max(1, sum(len(part["lines"]) for part in r["parts"]))
        if r["outcome"] == "unknown":
            verdict.unknown.append({"kind": "stream", "id": r["id"], "call": r["call"], "ret": r["ret"]})
        received = 0
        for part in r["parts"]:
            for index, state, value in part["lines"]:
                if index != received:
                    verdict.faults.append(f"stream of {r['id']} has result {index} instead of {received}")
                elif state != "SUCCEEDED" or value != r["expected"][index]:
                    verdict.faults.append(f"stream of {r['id']}: result {index} is {state} {value} instead of "
                                          f"{r['expected'][index]}")
                received = index + 1
            if part["outcome"] == "complete" and received != len(r["expected"]):
                verdict.faults.append(f"stream of {r['id']} ended without an error after {received} results")
            elif part["outcome"] not in ("complete", "broken"):
                verdict.faults.append(f"stream of {r['id']}: {part['outcome']}")
    return verdict


def tokens(records: Iterable[Record]) -> Verdict:
    """An acknowledged credential works until its end begins. After an acknowledged end it never works.

    An end without an answer may be undone: a server refuses the credential at once, before the end is durable, and a
    server that takes over does not know the end. Clients record an end as unknown before the call, and with its outcome after the call."""
    verdict = Verdict("tokens")
    ends: dict[tuple[str, int], Record] = {}
    made: set[str] = set()
    uses: list[Record] = []
    for r in records:
        if r["op"] in ("rotate", "revoke"):
            ends[r["token"], r["call"]] = r
            continue
        verdict.operations += 1
        if r["op"] == "use":
            uses.append(r)
        elif r["outcome"] == "ok":
            made.add(r["token"])
        if r["outcome"] not in ("ok", "works", "refused"):
            verdict.faults.append(f"{r['op']} of token {r['token']}: {r['outcome']}")
    end_begun: dict[str, int] = {}
    end_done: dict[str, int] = {}
    for r in ends.values():
        verdict.operations += 1
        if r["outcome"] == "failed":
            continue
        end_begun[r["token"]] = min(r["call"], end_begun.get(r["token"], r["call"]))
        if r["outcome"] == "ok":
            end_done[r["token"]] = r["ret"]
        elif r["outcome"] == "unknown":
            verdict.unknown.append(r)
        else:
            verdict.faults.append(f"{r['op']} of token {r['token']}: {r['outcome']}")
    for r in uses:
        token = r["token"]
        if r["outcome"] == "works" and r["call"] > end_done.get(token, r["call"]):
            verdict.faults.append(f"token {token} worked after its end was acknowledged")
        elif r["outcome"] == "refused" and token in made and end_begun.get(token, r["ret"]) >= r["ret"]:
            verdict.faults.append(f"token {token} was acknowledged and then refused")
    return verdict


def ranks(effects: Iterable[Record]) -> Verdict:
    """No two attempts of a rank run at the same time, and a rank starts once in an attempt."""
    verdict = Verdict("ranks")
    starts: collections.Counter[tuple[str, int, str]] = collections.Counter()
    for e in effects:
        if "program" not in e:
            continue
        verdict.operations += 1
        if not e["alone"]:
            verdict.faults.append(f"rank {e['rank']} of {e['program']} ran beside another attempt of it")
        if e["event"] == "start":
            starts[e["program"], e["rank"], e["attempt"]] += 1
    for (program, rank, attempt), count in starts.items():
        if count > 1:
            verdict.faults.append(f"rank {rank} of {program} started {count} times in attempt {attempt}")
    return verdict


def programs(records: Iterable[Record]) -> Verdict:
    verdict = Verdict("programs")
    for r in records:
        if r["kind"] == "program":
            verdict.operations += 1
        elif r["kind"] == "program_missing" or (r["kind"] == "program_ended" and r["state"] != "SUCCEEDED"):
            verdict.faults.append(f"program {r['name']}: {r['kind']} {r.get('state', '')}")
    return verdict


def all_records(folder: pathlib.Path, prefix: str) -> list[Record]:
    return [r for path in sorted(folder.glob(prefix + "*.jsonl")) for r in read(path)]
