"""Objects of Python that are called from other languages: arguments and results are JSON."""
from __future__ import annotations

import queue
from typing import Any

from muster._wire.messages import BYTES, JSON, ServerMessage, WorkerMessage
from muster.errors import FailureKind
from muster.worker.functions import FunctionTable
from muster.worker.objects import Objects


class Counter:
    def __init__(self, n: int) -> None:
        self.n = n

    def add(self, by: int, times: int = 1) -> int:
        self.n += by * times
        return self.n

    def many(self) -> list[int]:
        return list(range(1000))

    def raw(self) -> bytes:
        return b"raw"

    def thing(self) -> Any:
        return object()


def asked(*calls: tuple[str, str]) -> Any:
    """Returns the reports of these calls of a Counter(5)."""
    sent: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    objects = Objects(FunctionTable({"make_counter": Counter}), sent.put)
    orders = ServerMessage().objects
    orders.build.add(object=1, function="make_counter", args=b"[5]", encoding=JSON, concurrency=1)
    for number, (method, args) in enumerate(calls, 1):
        orders.object.append(1)
        orders.caller.append(9)
        orders.of_worker.append(False)
        orders.number.append(number)
        orders.method.append(method)
        orders.args.append(args.encode())
        orders.encoding.append(JSON)
    objects.take(orders)
    answers = WorkerMessage().objects
    built = 0
    while len(answers.number) < len(calls):
        m = WorkerMessage()
        m.ParseFromString(sent.get(timeout=10))
        built += len(m.objects.built)
        for f in m.objects.failure:
            f.position += len(answers.number)
        answers.MergeFrom(m.objects)
    assert built == 1
    return answers


def test_arguments_and_results_are_json() -> None:
    answers = asked(("add", "[2]"), ("add", '{"args":[1],"kwargs":{"times":3}}'), ("many", "[]"), ("raw", "[]"))
    assert list(answers.value[:2]) == [b"7", b"10"]
    assert answers.value[2].startswith(b"[0,1,2,")
    assert answers.value[3] == b"raw"
    assert list(answers.encoding) == [JSON, JSON, JSON, BYTES]


def test_result_that_json_cannot_represent_is_an_error() -> None:
    answers = asked(("thing", "[]"), ("add", "two"), ("__init__", "[3]"), ("sub", "[1]"))
    messages = [f.message for f in answers.failure]
    assert "thing returned a value that is not JSON" in messages[0]
    assert "the arguments are not JSON" in messages[1]
    assert messages[2] == "'__init__' cannot be called: methods that begin with an underscore are private"
    assert answers.failure[2].kind == FailureKind.USER
    assert "sub" in messages[3]
