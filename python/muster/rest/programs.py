"""Programs are commands that run as ranks on the cluster's workers; see docs/programs.md."""
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
"""Seconds of waiting before the reason is logged."""
LOOK_EVERY = 0.3
"""Seconds between two requests of a wait; the server cannot wait for programs."""

PUT_LIMIT = 1800.0
"""Seconds for the largest upload over a slow connection."""

AWAY = (429, 503, 504)
"""HTTP statuses of a log request while the worker does not answer."""

PAGE = 1000

Tasks = Union[int, Mapping[str, Union[int, Mapping[str, Any]]]]


class ProgramWords(TypedDict, total=False):
    """Fields of a program, except its command and tasks. Durations are numbers of seconds, or strings such as "10s"."""

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
    """Default fields of each rank. A role can override these fields."""

    resources: Mapping[str, int]
    labels: Mapping[str, str]


class LaunchWords(EachWords, ProgramWords, total=False):
    pass


class ProgramFailedError(MusterError):
    """Raised by `wait` if the program has failed or was cancelled.

    Attributes:
        program: The program. None if the error was copied or unpickled.
        state: ``"FAILED"`` or ``"CANCELLED"``.
        cause: The first failure as in the REST API (``kind``, ``rank``, ``task``, ``host``, ``exit_status``,
            ``signal``, ``text``, ``stderr``, ``coordination``), or None if no failure occurred.
    """

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
    """A program on the server.

    Attributes:
        id: Id of the program.
        name: Name of the program.
        view: The server's last response about the program, as in the REST API. Each access to the properties ``state``
            and ``cause`` sends a request.
    """

    def __init__(self, http: Http, view: dict[str, Any]) -> None:
        self._http = http
        self.view = view
        self.id = str(view["id"])
        self.name = str(view["name"])

    def refresh(self) -> dict[str, Any]:
        """Requests the program's current state from the server and sets ``view``.

        Returns:
            The program, as in the REST API.
        """
        self.view = self._http.json("GET", self._path())
        return self.view

    @property
    def state(self) -> str:
        """State of the program: PENDING, STARTING, RUNNING, RESTARTING, STOPPING, SUCCEEDED, FAILED or CANCELLED."""
        return str(self.refresh()["state"])

    @property
    def cause(self) -> dict[str, Any] | None:
        """The first failure, with the last lines of stderr, or None if no failure occurred."""
        return self.refresh().get("cause")

    def ranks(self) -> list[dict[str, Any]]:
        """Returns the ranks of the last attempt, ordered by number, as in the REST API."""
        ranks: list[dict[str, Any]] = self._http.json("GET", self._path("/ranks"))["ranks"]
        return ranks

    def stacks(self) -> list[dict[str, Any]]:
        """Returns the current stacks of all running ranks, without stopping the ranks.

        Returns:
            Groups of ranks with the same stack, smallest group first. Each group has ``state``, ``stack`` and
            ``ranks``. ``state`` is ``TAKEN``, ``NATIVE``, or the reason why there is no stack, such as ``STOPPED`` or
            ``AWAY``. ``stack`` has the format of faulthandler; with ``NATIVE``, the stack also contains C and C++
            functions.
        """
        groups: list[dict[str, Any]] = self._http.json("GET", self._path("/stacks"))["groups"]
        return groups

    def attempts(self) -> list[dict[str, Any]]:
        """Returns the newest attempts, oldest first, as in the REST API."""
        attempts: list[dict[str, Any]] = self._http.json("GET", self._path("/attempts"))["attempts"]
        return attempts

    def attempt(self, number: int) -> dict[str, Any]:
        """Returns the record of a current or past attempt.

        Args:
            number: Number of the attempt, from 1.

        Returns:
            A mapping with ``events``, ``barriers``, ``latecomers``, ``stacks`` and ``ended``. ``events`` contains lost
            workers and the failures that the coordination cluster reported. ``stacks`` contains stacks of killed ranks,
            as in `Program.stacks`. ``ended`` contains the last lines of each rank.
        """
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
        """Returns the lines that a rank has printed in an attempt.

        Args:
            rank: Number of the rank.
            follow: Whether to return an iterator that yields new lines as the rank prints them. If `attempt` is set,
                the iterator stops at the end of the attempt. Otherwise the iterator continues with the next attempt
                after a failure, until the program has ended.
            attempt: Number of the attempt. None means the last attempt.

        Returns:
            A list of lines. If `follow` is True, an iterator over lines.

        Raises:
            ServerError: There is no such attempt or rank, or its worker is disconnected.
        """
        if follow:
            return self._follow(self._rank_log(rank, attempt), attempt)
        log = self._rank_log(rank, attempt)
        return [*log.more(), *log.rest()]

    def _follow(self, log: RankLog, attempt: int | None) -> Iterator[str]:
        while True:
            # The state is read before the log. If the attempt has ended in this state, the following read returns the
            # rest of the log.
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
        """Waits until the program has ended.

        If the program is still waiting for workers after five seconds, the logger ``muster`` logs the reason once.

        Args:
            timeout: Seconds to wait. None means no limit.

        Returns:
            The program itself.

        Raises:
            ProgramFailedError: The program has failed or was cancelled.
            WaitTimeout: The program is still active after `timeout`, and continues. If the program is waiting for
                workers, the message contains the reason.
        """
        begun = time.monotonic()
        end = None if timeout is None else begun + timeout
        told = False
        while self.refresh()["state"] not in ENDED:
            left = LOOK_EVERY if end is None else end - time.monotonic()
            if left <= 0:
                why = self.view.get("waits_for")
                raise WaitTimeout(f"the program {self.name} ({self.id}) did not end within {timeout:g} s: "
                                  f"it is {self.view['state']}" + (f", {why}" if why else ""))
            if not told and time.monotonic() - begun >= SAY_AFTER and (why := self.view.get("waits_for")):
                told = True
                log.warning("the program %s (%s) is %s: %s", self.name, self.id, self.view["state"], why)
            time.sleep(min(left, LOOK_EVERY))
        if self.view["state"] != "SUCCEEDED":
            raise ProgramFailedError(self)
        return self

    def stop(self, at_step: int | Literal["next"] | None = None) -> Program:
        """Asks the ranks to stop. If all ranks then exit successfully, the state of the program is SUCCEEDED.

        Args:
            at_step: Number of a step, or ``"next"``. All ranks continue to the end of this step, where
                `muster.step` returns True. If None, the ranks are asked to stop immediately.

        Returns:
            The program itself.

        Raises:
            ServerError: Status 409: `at_step` is set and no rank reports steps.
        """
        return self._change("stop", {} if at_step is None else {"at_step": at_step})

    def cancel(self) -> Program:
        """Stops the ranks. The final state of the program is CANCELLED.

        Returns:
            The program itself.
        """
        return self._change("cancel")

    def restart(self) -> Program:
        """Starts a new attempt, which does not count as a restart after a failure.

        Returns:
            The program itself.
        """
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
        raise TypeError("command: must be a list of strings, such as ['python', 'train.py']")
    body: dict[str, Any] = {k: v for k, v in words.items() if v is not None}
    each = {k: body.pop(k) for k in EachWords.__annotations__ if k in body}
    body["tasks"] = {type: _group(group, each) for type, group in
                     ({"worker": tasks} if isinstance(tasks, int) else tasks).items()}
    if command:  # otherwise each role has its own command
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
    except ServerError as error:  # the archive is uploaded only if the server does not have it
        if code is None or error.status != 422 or error.field != "upload":
            raise
    http.raw("PUT", f"/api/v1/blobs/{code.hash}", code.bytes, wait=PUT_LIMIT)
    return Program(http, http.json("POST", "/api/v1/programs", body))


def _group(group: int | Mapping[str, Any], each: Mapping[str, Any]) -> dict[str, Any]:
    return {**each, **({"count": group} if isinstance(group, int) else group)}


def listed(http: Http, limit: int | None, state: str | None = None) -> Iterator[Program]:
    """Yields at most `limit` programs, newest first. If `limit` is None, yields all programs."""
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
    """Runs a command as a program, with ranks on workers that allow programs. Returns immediately, without waiting for
    the ranks.

    Args:
        command: The command and its arguments. If empty, each role of `tasks` has its own command.
        tasks: Number of ranks, or a mapping from each role to its number of ranks or its settings, for example
            ``{"worker": 8, "ps": {"count": 2, "command": ["python", "ps.py"]}}``.
        url: URL of the server, or several URLs separated by commas. None means MUSTER_URL, otherwise
            ``http://127.0.0.1:8477``.
        token: Token for the server. Empty means MUSTER_TOKEN or MUSTER_TOKEN_FILE.
        ca: PEM file with the CA certificates that verify the server. None means MUSTER_CA.
        cert: PEM file with the client certificate. None means MUSTER_CERT.
        key: PEM file with the private key of `cert`. None means MUSTER_KEY.
        **words: Additional fields, which docs/programs.md describes. Durations are numbers of seconds, or strings such
            as ``"10s"``. The most common fields are `name`, `cluster`, `env`, `working_dir`, `max_restarts`,
            `deadline`, and:

            - `resources`, `labels`: resources that are reserved for each rank, and labels that the rank's worker must
              have.
            - `upload`: code directory that is copied into each rank's working directory, or the SHA-256 hash of an
              archive on the server.
            - `on_hang`: reaction if the program makes no progress for `hang_after` (60 s): ``"off"``, ``"tell"``,
              ``"restart"`` or ``"abort"``.
            - `step_pattern`: RE2 regular expression whose first group matches the step number in a printed line. Not
              needed if ranks call `muster.step`.
            - `store`: location of the torch.distributed store, ``"server"`` or ``"rank0"``. The default is ``"server"``
              if the program's cluster has a store.

    Returns:
        The program.

    Raises:
        ServerError: The server rejected the program; ``field`` is the name of the invalid field.
        NoServer: No server answers.
        TypeError: `command` is a str.
        ValueError: `upload` is not a directory, is too large, or contains a link to a path outside the directory.
        OSError: `upload` cannot be read.

    Example:
        ```python
        muster.launch(["python", "train.py"], tasks=8, resources={"gpu": 4}, max_restarts=3).wait()
        ```
    """
    return submit(Http(url, ca, cert, key, token), command, tasks, words)


def programs(limit: int = 100, *, state: str | None = None, url: str | None = None,
             token: str = "", ca: str | None = None, cert: str | None = None,
             key: str | None = None) -> list[Program]:
    """Returns the latest programs, newest first.

    Args:
        limit: Maximum number of programs.
        state: State of the programs to return, for example ``"RUNNING"``. None means all programs.
        url: URL of the server, or several URLs separated by commas. None means MUSTER_URL, otherwise
            ``http://127.0.0.1:8477``.
        token: Token for the server. Empty means MUSTER_TOKEN or MUSTER_TOKEN_FILE.
        ca: PEM file with the CA certificates that verify the server. None means MUSTER_CA.
        cert: PEM file with the client certificate. None means MUSTER_CERT.
        key: PEM file with the private key of `cert`. None means MUSTER_KEY.
    """
    return list(listed(Http(url, ca, cert, key, token), limit, state))


def get_program(name_or_id: str, *, url: str | None = None, token: str = "",
                ca: str | None = None, cert: str | None = None,
                key: str | None = None) -> Program:
    """Returns an existing program.

    Args:
        name_or_id: Id or name of the program. If several programs have this name, the newest program is returned.
        url: URL of the server, or several URLs separated by commas. None means MUSTER_URL, otherwise
            ``http://127.0.0.1:8477``.
        token: Token for the server. Empty means MUSTER_TOKEN or MUSTER_TOKEN_FILE.
        ca: PEM file with the CA certificates that verify the server. None means MUSTER_CA.
        cert: PEM file with the client certificate. None means MUSTER_CERT.
        key: PEM file with the private key of `cert`. None means MUSTER_KEY.

    Raises:
        ServerError: There is no such program.
        NoServer: No server answers.
    """
    return found(Http(url, ca, cert, key, token), name_or_id)
