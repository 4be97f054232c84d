"""Tasks by name and by number: people and TensorFlow say "worker:3", the protocol counts through the
cluster. The service knows both, and answers in the words of the first task that it is asked for."""
from __future__ import annotations

import operator
import re
from typing import Any, Iterable, Union

from muster._wire.coordination import METHODS, Refusal
from muster.agent.errors import CoordinationError
from muster.agent.service import Retry, Service, Waiter

Task = Union[int, str, tuple[str, int]]
"""3, "worker:3" or ("worker", 3)."""
TASK_MAX = 2**31 - 1
"""The protocol's numbers have 32 bits."""
ASK_LIMIT = 2.0
"""Seconds for the name of a task in an error."""


def parsed(task: Task) -> int | tuple[str, int]:
    """Raises ValueError."""
    job, index = "", task  # type: Any, Any
    if isinstance(task, str):
        job, _, index = task.rpartition(":")
    elif isinstance(task, tuple) and len(task) == 2:
        job, index = task
    try:
        if isinstance(index, bool) or not isinstance(job, str):
            raise TypeError
        if isinstance(index, str) and not re.fullmatch("-?[0-9]+", index):  # int() takes " 1" and "1_0"
            raise ValueError
        number = int(index) if isinstance(index, str) else operator.index(index)
    except (TypeError, ValueError):
        raise ValueError(f"task: {task!r}; write it as 'worker:3', ('worker', 3) or 3") from None
    if not 0 <= number <= TASK_MAX:
        raise ValueError(f"task: {task!r} is " + ("negative" if number < 0 else f"more than {TASK_MAX}"))
    return (job, number) if job else number


class Names:
    """Any thread: what is known is replaced, never changed."""

    def __init__(self, service: Service, own: Task) -> None:
        self._service = service
        self._own = parsed(own)
        self._numbers: dict[tuple[str, int], int] = {}
        self._names: dict[int, str] = {}

    @property
    def own(self) -> str:
        if isinstance(self._own, int):
            return self._names.get(self._own, f"task:{self._own}")
        return "%s:%d" % self._own

    def own_is(self, number: int) -> None:
        if isinstance(self._own, int):
            self.of(number)
        else:
            self._names = {**self._names, number: self.own}

    def resolve(self, seconds: float) -> tuple[int, Refusal | None]:
        """The own number, or why it is not known. Between runs the cluster may have become another, so all is
        asked anew. Raises CoordinationError (CANCELLED): the service was closed."""
        self._numbers, self._names = {}, {}
        if isinstance(self._own, int):
            return self._own, None
        answer, refused = self._ask([0, self._own], seconds)
        if refused is not None:
            return 0, refused
        number: int = answer.task_state[1].task.task_id
        self._numbers = {self._own: number}
        return number, None

    def numbers(self, tasks: Iterable[Task], seconds: float) -> list[int]:
        """Raises CoordinationError (INVALID_ARGUMENT: the cluster has no such task), ValueError: one is no
        task, or there are none, which the protocol takes for all."""
        if isinstance(tasks, str):
            raise ValueError(f"tasks: {tasks!r} is one task; write a list")
        named = [parsed(t) for t in tasks]
        if not named:
            raise ValueError("tasks: there are none; write None for all of the cluster")
        known = self._numbers
        new = list({t for t in named if not isinstance(t, int) and t not in known})
        if new:
            answer, refused = self._ask([0, *new], seconds)  # the first one counts, so do the answers
            if refused is not None:
                raise self._service.error_of(refused, seconds)
            before, known = known, {**known, **dict(zip(new, (s.task.task_id for s in answer.task_state[1:])))}
            if self._numbers is before:
                self._numbers = known
        return [t if isinstance(t, int) else known[t] for t in named]

    def of(self, number: int, seconds: float = ASK_LIMIT) -> str:
        """As "worker:3", or "task:3" where the service does not say."""
        return self.all([number], seconds)[0]

    def all(self, numbers: list[int], seconds: float) -> list[str]:
        known = self._names
        new = [n for n in numbers if n not in known]
        if new:
            until = Retry(seconds, 0.05)
            for asked in ([self._own] if not isinstance(self._own, int) else [("worker", 0), ("chief", 0)]):
                try:
                    answer, refused = self._ask([asked, *new], until.left())
                except CoordinationError:  # numbers will do
                    break
                if refused is None:
                    before, known = known, {**known, **dict(zip(new, (f"{s.task.job_name}:{s.task.task_id}"
                                                                      for s in answer.task_state[1:])))}
                    if self._names is before:
                        self._names = known
                    break
        return [known.get(n, f"task:{n}") for n in numbers]

    def _ask(self, tasks: list[Any], seconds: float) -> tuple[Any, Refusal | None]:
        request = METHODS["GetTaskState"].request()
        for task in tasks:
            job, index = ("", task) if isinstance(task, int) else task
            request.source_task.add(job_name=job, task_id=index)
        retry, waiter = Retry(seconds, 0.05), Waiter()
        while True:
            answer, refused = waiter.perform(self._service.begin("GetTaskState", request, retry.left()))
            if refused is None or not refused.passes or not retry.may_wait():
                return answer, refused
            retry.wait(waiter)
