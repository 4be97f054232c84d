"""Maps task names such as "worker:3" to the task numbers of the protocol, which are counted across all jobs of the
cluster.

The service accepts names and numbers. Its answer has the form of the first task in the request.
"""
from __future__ import annotations

import operator
import re
from typing import Any, Iterable, Union

from muster._wire.coordination import METHODS, Refusal
from muster.agent.errors import CoordinationError
from muster.agent.service import Retry, Service, Waiter

Task = Union[int, str, tuple[str, int]]
"""Number, name, or job and index of a task: 3, "worker:3" or ("worker", 3)."""
TASK_MAX = 2**31 - 1
"""Largest task number, because the protocol uses 32 bits."""
ASK_LIMIT = 2.0
"""Seconds to find the name of a task for an error message."""


def parsed(task: Task) -> int | tuple[str, int]:
    """Returns the number of a task, or its job and index. Raises ValueError if `task` is invalid."""
    job, index = "", task  # type: Any, Any
    if isinstance(task, str):
        job, _, index = task.rpartition(":")
    elif isinstance(task, tuple) and len(task) == 2:
        job, index = task
    try:
        if isinstance(index, bool) or not isinstance(job, str):
            raise TypeError
        if isinstance(index, str) and not re.fullmatch("-?[0-9]+", index):  # int() accepts " 1" and "1_0"
            raise ValueError
        number = int(index) if isinstance(index, str) else operator.index(index)
    except (TypeError, ValueError):
        raise ValueError(f"task: {task!r} is not a task; write it as 'worker:3', ('worker', 3) or 3") from None
    if not 0 <= number <= TASK_MAX:
        raise ValueError(f"task: {task!r} is " + ("negative" if number < 0 else f"more than {TASK_MAX}"))
    return (job, number) if job else number


class Names:
    """The known names and numbers of tasks. Thread-safe, because the dictionaries are replaced and never changed."""

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
        """Returns the number of this task, or the refusal of the service.

        Discards all known names, because the cluster may have changed between runs. Raises CoordinationError
        (CANCELLED) if the connection to the service was closed.
        """
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
        """Returns the numbers of tasks.

        Raises CoordinationError (INVALID_ARGUMENT) if the cluster does not contain a task. Raises ValueError for an
        invalid task or an empty list, because an empty list means all tasks in the protocol.
        """
        if isinstance(tasks, str):
            raise ValueError(f"tasks: {tasks!r} is a single task; pass a list")
        named = [parsed(t) for t in tasks]
        if not named:
            raise ValueError("tasks: the list is empty; pass None for all tasks of the cluster")
        known = self._numbers
        new = list({t for t in named if not isinstance(t, int) and t not in known})
        if new:
            answer, refused = self._ask([0, *new], seconds)  # begins with a number, so the answer has numbers
            if refused is not None:
                raise self._service.error_of(refused, seconds)
            before, known = known, {**known, **dict(zip(new, (s.task.task_id for s in answer.task_state[1:])))}
            if self._numbers is before:
                self._numbers = known
        return [t if isinstance(t, int) else known[t] for t in named]

    def of(self, number: int, seconds: float = ASK_LIMIT) -> str:
        """Returns the task name, such as "worker:3", or "task:3" if the name is unknown."""
        return self.all([number], seconds)[0]

    def all(self, numbers: list[int], seconds: float) -> list[str]:
        known = self._names
        new = [n for n in numbers if n not in known]
        if new:
            until = Retry(seconds, 0.05)
            for asked in ([self._own] if not isinstance(self._own, int) else [("worker", 0), ("chief", 0)]):
                try:
                    answer, refused = self._ask([asked, *new], until.left())
                except CoordinationError:  # numbers are used instead
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
