"""Programs: commands that run as ranks on the cluster's workers (docs/programs.md)."""
from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any, Iterator, Literal, Mapping, Sequence, TypedDict, Union, overload

from muster.errors import MusterError, WaitTimeout
from muster.rest.code import Upload, is_hash
from muster.rest.http import Http, ServerError, segment
from muster.rest.rank_log import RankLog

if TYPE_CHECKING:
    from typing_extensions import Unpack

ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")

log = logging.getLogger("muster")

SAY_AFTER = 5.0
"""Seconds until one who waits is told what for."""
LOOK_EVERY = 0.3
"""Seconds between two looks of who waits; the server has no wait for programs."""

PUT_LIMIT = 1800.0
"""Seconds for the largest upload on a slow line."""

AWAY = (429, 503, 504)
"""Statuses of a log whose worker does not answer now."""

PAGE = 1000

Tasks = Union[int, Mapping[str, Union[int, Mapping[str, Any]]]]


class ProgramWords(TypedDict, total=False):
    """What a program may be, beside its command and tasks; durations are seconds, or text as "10s"."""

    name: str
    cluster: str
    per_worker: int
    env: Mapping[str, str]
    working_dir: str
    max_restarts: int
    grace: float | str
    restart_grace: float | str
    deadline: float | str
    notice: float | str
    on_hang: Literal["off", "tell", "restart", "abort"]
    hang_after: float | str
    spares: int
    upload: str | os.PathLike[str]
    preload: Sequence[str]
    store: Literal["server", "rank0"]
    step_pattern: str
    priority: int
    weight: int
    ends_with: Sequence[str]
    idempotency_key: str
    metadata: Mapping[str, Any]


class EachWords(TypedDict, total=False):
    """What each rank asks for, of every type that does not say it itself."""

    resources: Mapping[str, int]
    labels: Mapping[str, str]


class LaunchWords(EachWords, ProgramWords, total=False):
    pass


class ProgramFailedError(MusterError):
    """Raised when an awaited program did not succeed. Attributes: ``program``, None in a copy or after unpickling; ``state``,
    FAILED or CANCELLED; ``cause``, what went wrong first, as REST has it (``kind``, ``rank``, ``task``, ``host``,
    ``exit_status``, ``signal``, ``text``, ``stderr``, ``coordination``), or None."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.state = str(program.view["state"])
        self.cause: dict[str, Any] | None = program.view.get("cause")
        said = [f"the program {program.name} ({program.id}) is {self.state}"]
        if self.cause:
            said[0] += ": " + str(self.cause["text"])
            said += ["  " + line for line in self.cause.get("stderr", [])]
        super().__init__("\n".join(said))

    def __reduce__(self) -> Any:
        return _restored_failure, (self.args, {"program": None, "state": self.state, "cause": self.cause})


def _restored_failure(args: tuple[Any, ...], attributes: dict[str, Any]) -> ProgramFailedError:
    made = ProgramFailedError.__new__(ProgramFailedError, *args)
    made.__dict__.update(attributes)
    return made


class Program:
    """One program. `view` is what the server said last, as REST has it; `state` and `cause` ask."""

    def __init__(self, http: Http, view: dict[str, Any]) -> None:
        self._http = http
        self.view = view
        self.id = str(view["id"])
        self.name = str(view["name"])

    def refresh(self) -> dict[str, Any]:
        self.view = self._http.json("GET", self._path())
        return self.view

    @property
    def state(self) -> str:
        """PENDING, STARTING, RUNNING, RESTARTING, STOPPING, SUCCEEDED, FAILED or CANCELLED."""
        return str(self.refresh()["state"])

    @property
    def cause(self) -> dict[str, Any] | None:
        """What went wrong first, with the last lines on stderr; None: nothing so far."""
        return self.refresh().get("cause")

    def ranks(self) -> list[dict[str, Any]]:
        """Those of the last attempt, by number."""
        ranks: list[dict[str, Any]] = self._http.json("GET", self._path("/ranks"))["ranks"]
        return ranks

    def stacks(self) -> list[dict[str, Any]]:
        """In which line each rank is that is alive: groups of ranks with the same stack, the smallest
        first, each with ``state`` (``TAKEN``, ``NATIVE``, or why there is no stack: ``STOPPED``, ``AWAY``, …),
        ``stack`` (a text, as faulthandler writes it; of ``NATIVE`` ones with C and C++ functions) and ``ranks``.
        No rank is stopped for it."""
        groups: list[dict[str, Any]] = self._http.json("GET", self._path("/stacks"))["groups"]
        return groups

    def attempts(self) -> list[dict[str, Any]]:
        """The newest, the last one last."""
        attempts: list[dict[str, Any]] = self._http.json("GET", self._path("/attempts"))["attempts"]
        return attempts

    def attempt(self, number: int) -> dict[str, Any]:
        """What was seen of an attempt, also of one that is over: ``events`` (failures told by its
        coordination cluster, workers that were lost), ``barriers`` and ``latecomers``, ``stacks`` of ranks
        that were killed (as of `stacks`), and ``ended`` with the last lines of each rank."""
        attempt: dict[str, Any] = self._http.json("GET", self._path(f"/attempts/{number}"))
        return attempt

    @overload
    def logs(self, rank: int = 0, *, follow: Literal[False] = False,
             attempt: int | None = None) -> list[str]: ...

    @overload
    def logs(self, rank: int = 0, *, follow: Literal[True],
             attempt: int | None = None) -> Iterator[str]: ...

    def logs(self, rank: int = 0, *, follow: bool = False,
             attempt: int | None = None) -> list[str] | Iterator[str]:
        """The lines that a rank has printed in an attempt, the last one unless told. `follow`: an iterator
        of them as they come, until the attempt, or without one the program, has ended; after a failure
        it goes on with the next attempt. Raises ServerError: there is no such attempt or rank, or its
        worker is away."""
        if follow:
            return self._follow(self._rank_log(rank, attempt), attempt)
        log = self._rank_log(rank, attempt)
        return [*log.more(), *log.rest()]

    def _follow(self, log: RankLog, attempt: int | None) -> Iterator[str]:
        while True:
            # Asked first: what an attempt printed before it was seen to be over can be read now.
            view = self.refresh()
            over = view["state"] in ENDED or view["attempt"] > log.attempt
            lost = False
            try:
                yield from log.more()
            except ServerError as error:
                if error.status not in AWAY:
                    lost = attempt is None and self.refresh()["attempt"] != log.attempt
                    if not lost:
                        raise
            if over and (log.complete or lost or log.gone()):
                yield from log.rest()
                if attempt is not None or view["attempt"] <= log.attempt:
                    return
                log = RankLog(self._log, log.rank, log.attempt + 1)
            elif log.complete and attempt is not None:
                return
            else:
                time.sleep(LOOK_EVERY)

    def _rank_log(self, rank: int, attempt: int | None) -> RankLog:
        return RankLog(self._log, rank, attempt or max(1, self.refresh()["attempt"]))

    def _log(self, rank: int, attempt: int, offset: int) -> dict[str, Any]:
        piece: dict[str, Any] = self._http.json("GET", self._path("/logs"), rank=rank, attempt=attempt,
                                                offset=offset)
        return piece

    def wait(self, timeout: float | None = None) -> Program:
        """Waits until it has ended. Raises ProgramFailedError where it has not succeeded, and
        WaitTimeout after `timeout` seconds, which says what it waits for; it goes on then. Where it waits for
        workers after five seconds, the log (``muster``) says so once."""
        begun = time.monotonic()
        end = None if timeout is None else begun + timeout
        told = False
        while self.refresh()["state"] not in ENDED:
            left = LOOK_EVERY if end is None else end - time.monotonic()
            if left <= 0:
                why = self.view.get("waits_for")
                raise WaitTimeout(f"the program {self.name} ({self.id}) has not ended within {timeout:g} s: "
                                  f"it is {self.view['state']}" + (f", {why}" if why else ""))
            if not told and time.monotonic() - begun >= SAY_AFTER and (why := self.view.get("waits_for")):
                told = True
                log.warning("the program %s (%s) is %s: %s", self.name, self.id, self.view["state"], why)
            time.sleep(min(left, LOOK_EVERY))
        if self.view["state"] != "SUCCEEDED":
            raise ProgramFailedError(self)
        return self

    def stop(self, at_step: int | Literal["next"] | None = None) -> Program:
        """Asks its ranks to end; it has SUCCEEDED where all end well. With `at_step`, a number or
        ``"next"``, all stop after the same step, at which `muster.step` returns True; it goes on to
        there. Raises ServerError (409) where no rank says steps."""
        return self._change("stop", {} if at_step is None else {"at_step": at_step})

    def cancel(self) -> Program:
        """Stops its ranks; it ends CANCELLED."""
        return self._change("cancel")

    def restart(self) -> Program:
        """Begins another attempt, which is not counted."""
        return self._change("restart")

    def _change(self, wish: str, how: dict[str, Any] | None = None) -> Program:
        self.view = self._http.json("POST", self._path("/" + wish), how or {})
        return self

    def _path(self, rest: str = "") -> str:
        return f"/api/v1/programs/{segment(self.id)}{rest}"

    def __repr__(self) -> str:
        return f"<muster.Program {self.name} ({self.id}) {self.view['state']}>"


def submit(http: Http, command: Sequence[str], tasks: Tasks, words: LaunchWords) -> Program:
    if isinstance(command, str):
        raise TypeError("command: a list of words, as ['python', 'train.py']")
    body: dict[str, Any] = {k: v for k, v in words.items() if v is not None}
    each = {k: body.pop(k) for k in EachWords.__annotations__ if k in body}
    body["tasks"] = {type: _group(group, each) for type, group in
                     ({"worker": tasks} if isinstance(tasks, int) else tasks).items()}
    if command:  # without one each type has its own
        body["command"] = [str(word) for word in command]
    for duration in ("grace", "restart_grace", "deadline", "notice", "hang_after"):
        if isinstance(body.get(duration), (int, float)):
            body[duration] = f"{round(body[duration] * 1000)}ms"
    code = None
    if "upload" in body and not is_hash(body["upload"]):
        code = Upload(body["upload"])
        body["upload"] = code.hash
    try:
        return Program(http, http.json("POST", "/api/v1/programs", body))
    except ServerError as error:  # the server says that it lacks it; only then it is put
        if code is None or error.status != 422 or error.field != "upload":
            raise
    http.raw("PUT", f"/api/v1/blobs/{code.hash}", code.bytes, wait=PUT_LIMIT)
    return Program(http, http.json("POST", "/api/v1/programs", body))


def _group(group: int | Mapping[str, Any], each: Mapping[str, Any]) -> dict[str, Any]:
    return {**each, **({"count": group} if isinstance(group, int) else group)}


def listed(http: Http, limit: int | None, state: str | None = None) -> Iterator[Program]:
    """Newest first; at most `limit`, None: all."""
    token: str | None = None
    while limit is None or limit > 0:
        page = http.json("GET", "/api/v1/programs", limit=min(PAGE, limit or PAGE), state=state,
                         page_token=token)
        for view in page["programs"]:
            yield Program(http, view)
        limit = None if limit is None else limit - len(page["programs"])
        token = page.get("next_page_token")
        if not token:
            return


def found(http: Http, name_or_id: str) -> Program:
    try:
        return Program(http, http.json("GET", f"/api/v1/programs/{segment(name_or_id)}"))
    except ServerError as error:
        if error.status not in (400, 404):
            raise
    for program in listed(http, None):  # newest first
        if program.name == name_or_id:
            return program
    raise ServerError(404, {"code": "NOT_FOUND", "detail": f"there is no program '{name_or_id}'"})


def launch(command: Sequence[str], tasks: Tasks = 1, *, url: str | None = None, token: str = "",
           ca: str | None = None, cert: str | None = None, key: str | None = None,
           **words: Unpack[LaunchWords]) -> Program:
    """``muster.launch(["python", "train.py"], tasks=8, resources={"gpu": 4}, max_restarts=3).wait()``

    Runs a command as ranks on workers that allow programs; returns at once. `tasks`: how many, or by
    type, as ``{"worker": 8, "ps": {"count": 2, "command": […]}}``; `resources` and `labels` are of
    each rank. `upload`: a directory of code that each rank begins in, packed as `muster launch --upload`
    packs it, or the hash of a blob that the server has. `on_hang`: what to do when nothing moves for
    `hang_after` (60 s). `step_pattern`: RE2 whose first group is the step in a line that a rank prints,
    where it does not call `muster.step`. `store`: who has that of torch.distributed, ``"server"`` or
    ``"rank0"``; unless told the server where its cluster has one. `url`, `token`, `ca`, `cert` and `key`: those of
    :class:`muster.Client`. Raises ServerError, whose ``field`` names what cannot be; NoServer.
    """
    return submit(Http(url, ca, cert, key, token), command, tasks, words)


def programs(limit: int = 100, *, state: str | None = None, url: str | None = None,
             token: str = "", ca: str | None = None, cert: str | None = None,
             key: str | None = None) -> list[Program]:
    """Newest first."""
    return list(listed(Http(url, ca, cert, key, token), limit, state))


def get_program(name_or_id: str, *, url: str | None = None, token: str = "",
                ca: str | None = None, cert: str | None = None,
                key: str | None = None) -> Program:
    """Of several with a name the newest. Raises ServerError: there is none."""
    return found(Http(url, ca, cert, key, token), name_or_id)
