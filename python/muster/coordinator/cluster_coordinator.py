"""Schedules functions on the cluster's workers, and waits for them.

::

    c = muster.ClusterCoordinator("127.0.0.1:8476")
    a = c.submit(load, "part-0")
    b = c.submit(train, a, rate=0.1)   # an output as an argument
    print(b.fetch())                   # or raises the function's error, which is this value's alone

Closures run at least once and finish once, in any order. `schedule` has the semantics of TensorFlow's
ClusterCoordinator instead, where what is scheduled is one whole: its first error cancels what is left of it
and is raised once, by whichever of schedule, join and done comes first after nothing that was scheduled
before it runs any more. Then the coordinator goes on, with the next generation. Every method may be called
from any thread.
"""
from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence, Sized, TypeVar, Union, overload

from muster._elsewhere import COORDINATOR, Hints
from muster._pickled import calls, names
from muster._pickled.uploads import Upload, Uploadable, collect
from muster._shared import memory
from muster._wire import addresses
from muster.coordinator.blobs import Blobs
from muster.coordinator.link import Link
from muster.coordinator.mapped import Calls, MapIterator, Mapped, iterate
from muster.coordinator.options import ClosureOptions, ClosureWords, CoordinatorOptions, CoordinatorWords, check_names
from muster.coordinator.owner import Owner
from muster.coordinator.remote_value import PerWorkerDataset, PerWorkerIterator, PerWorkerValues, RemoteValue
from muster.coordinator.requests import (
    Along,
    Callables,
    Request,
    arguments_of,
    call_of,
    check_returns,
    chunks_of,
    given,
    packed_call,
    plain_call,
)
from muster.coordinator.session import Session
from muster.coordinator.structure import fetch_structure, values_of
from muster.coordinator.uploads import Uploads
from muster.coordinator.work import (
    Chunk,
    InstallUpload,
    IterateDataset,
    Large,
    MakeDataset,
    WithUploads,
    identity,
    install_upload,
    make_with_uploads,
)
from muster.errors import ClosureError
from muster.objects.dataset import DistributedDataset, Read
from muster.objects.handle import RemoteObject
from muster.variables.known import Known
from muster.variables.making import task_of
from muster.variables.state import State
from muster.worker import home
from muster.worker.context import current, waiting

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
S = TypeVar("S", bound="Scheduling")
Function = Union[str, Callable[..., T]]


class Scheduling(Hints):
    """A coordinator together with options for what is scheduled through it."""

    _instead = COORDINATOR
    _shown = "ClusterCoordinator"

    def __init__(self, owner: Owner, callables: Callables, options: ClosureOptions | None,
                 sent: Uploads, uploads: tuple[Upload, ...], name: str = "") -> None:
        self._owner = owner
        session = owner.session
        self._callables = callables
        self._options = options
        self._sent = sent
        self._uploads = uploads
        self._plain_along = Along(blobs=session.blobs, name=name,
                                  beside=session.takes_inputs_beside,
                                  show_arguments=session.options.show_arguments)

    def options(self, *, upload: Sequence[Uploadable] = (), name: str = "",
                **changes: Unpack[ClosureWords]) -> Scheduling:
        """``c.options(resources={"gpu": 1}, retries=2, timeout=60, priority=5, task="worker:3",
        labels={"zone": "a"}, delay=1)``; see :class:`muster.ClosureOptions`. The result keeps the
        coordinator alive, as values do.

        `upload` are modules of the client, or paths of a file.py, a package or a directory with
        modules, as they are now: workers import these before their own. They are sent to each worker
        once; on top of what this object uploads already. Raises TypeError (no module, no path),
        FileNotFoundError, ValueError (above 1 GiB as a zip).

        `name` is what people see of the closures, in place of the function's own: 1 to 256 bytes.
        Raises ValueError."""
        options = self._options
        if changes:
            check_names("options", changes, ClosureOptions)
            options = dataclasses.replace(options or ClosureOptions(), **changes)
        uploads = (collect(upload), *self._uploads) if upload else self._uploads
        name = names.checked(name) if name else self._plain_along.name
        return Scheduling(self._owner, self._callables, options, self._sent, uploads, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns how a coordinator of the same server is made where this is unpickled; see ClusterCoordinator."""
        session = self._session
        return _unpickled, (session.link.servers, session.options.cluster, session.incarnation,
                            None if isinstance(self, ClusterCoordinator) else (self._options, self._plain_along.name))

    def __copy__(self: S) -> S:
        """Returns itself: a coordinator of its own would be another session, without the credentials."""
        return self

    def __deepcopy__(self: S, memo: Any) -> S:
        return self

    @property
    def _session(self) -> Session:
        """Raises RuntimeError in a process that was forked from the session's."""
        session = self._owner.session
        session.check_process()
        return session

    def __repr__(self) -> str:
        session = self._owner.session
        name = f" {session.options.shown_name!r}" if session.options.shown_name else ""
        return f"<muster.ClusterCoordinator {session.link.where}{name}{', closed' if session.over else ''}>"

    def _along(self) -> Along:
        self._owner.session.check_process()
        if self._uploads:
            return self._plain_along._replace(uploads=[self._sent.value(u) for u in self._uploads])
        return self._plain_along

    @overload
    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> RemoteValue[T]: ...
    @overload
    def submit(self, fn: str, /, *args: Any, **kwargs: Any) -> RemoteValue[Any]: ...

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Runs ``fn(*args, **kwargs)`` on some worker.

        `fn` is any callable, which is pickled (a plain function once: what it has captured when it
        is first used is what workers see), or the name of a function that workers serve, with
        JSON arguments. RemoteValues and PerWorkerValues may stand at any depth of the arguments.

        An error belongs to this value alone: its `fetch` raises it, no other call does, and it cancels
        nothing; nor does an error of what was scheduled cancel this. `join` waits for it, too. Waits
        while the queue is full. Raises UnavailableError, TypeError (cannot be pickled), ValueError
        (above 1 GiB in one part).
        """
        return self._submit(fn, args, kwargs, self._along())

    def _submit(self, fn: Function[T], args: Sequence[Any], kwargs: Mapping[str, Any] | None,
                along: Along) -> RemoteValue[T]:
        request = call_of(self._callables, fn, args, kwargs, along)
        return RemoteValue(self._owner, self._session.put((request,), self._options, True)[0])

    @overload
    async def async_submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> RemoteValue[T]: ...
    @overload
    async def async_submit(self, fn: str, /, *args: Any, **kwargs: Any) -> RemoteValue[Any]: ...

    async def async_submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Asynchronous version of `submit`: other coroutines run while the queue is full. Await the returned
        value for the result."""
        with waiting():
            return await asyncio.get_running_loop().run_in_executor(
                None, lambda: self.submit(fn, *args, **kwargs))

    @overload
    def schedule(self, fn: Callable[..., T], args: Sequence[Any] | None = (),
                 kwargs: Mapping[str, Any] | None = None) -> RemoteValue[T]: ...
    @overload
    def schedule(self, fn: str, args: Sequence[Any] | None = (),
                 kwargs: Mapping[str, Any] | None = None) -> RemoteValue[Any]: ...

    def schedule(self, fn: Any, args: Sequence[Any] | None = (),
                 kwargs: Mapping[str, Any] | None = None) -> Any:
        """The same as TensorFlow has it: ``fn(*args, **kwargs)`` as a part of a whole. The first error of
        what was scheduled cancels the rest and is raised once, by whichever of schedule, join and done
        comes first then; see the module.

        Raises the pending error of this generation (nothing is scheduled then), and what `submit`
        does.
        """
        request = call_of(self._callables, fn, *given("schedule", fn, args, kwargs), self._along())
        return RemoteValue(self._owner, self._session.put((request,), self._options)[0])

    def _submit_for_fetch(self, fn: Function[T], args: Sequence[Any],
                          kwargs: Mapping[str, Any] | None, name: str = "") -> RemoteValue[T]:
        """Submits a call whose output is no argument of other closures: an array is sent without base64."""
        along = self._along()
        return self._submit(fn, args, kwargs, along._replace(output_in_bytes=True, name=along.name or name))

    def put(self, value: T) -> RemoteValue[T]:
        """Sends a value to the cluster once, as an argument of many calls; `submit` would send it with each of
        them. It is the output of a call of its own, which no error of another call cancels."""
        along = self._along()
        return self._submit(identity, (value,), None, along._replace(name=along.name or "put"))

    @overload
    def schedule_many(self, fn: Callable[..., T],
                      args: Iterable[Sequence[Any]]) -> list[RemoteValue[T]]: ...
    @overload
    def schedule_many(self, fn: str, args: Iterable[Sequence[Any]]) -> list[RemoteValue[Any]]: ...

    def schedule_many(self, fn: Any, args: Iterable[Sequence[Any]]) -> Any:
        """One closure for each element of `args`, a sequence of positional arguments."""
        values: list[RemoteValue[Any]] = []
        each = iter(args)
        along = self._along()
        while True:
            batch = [call_of(self._callables, fn, given("schedule_many", fn, a, None)[0], None, along)
                     for a in itertools.islice(each, 1000)]
            if not batch:
                return values
            values += [RemoteValue(self._owner, r)
                       for r in self._session.put(batch, self._options)]

    def map(self, fn: Callable[..., T], *iterables: Iterable[Any],
            chunksize: int | None = None, timeout: float | None = None,
            progress: bool = False, buffersize: int | None = None) -> MapIterator[T]:
        """Calls `fn` with the elements of the iterables, as `submit` does, and returns an iterator over the
        results in order.

        Each call has its own error, and affects no other call. Iterating waits for the next result, and
        raises the error of its call, with a note that names the item. After an error, and when an iteration
        that has begun is closed or collected, the remaining calls are cancelled. Calls whose results nobody
        asks for run all the same.

        Args:
            fn: A callable. It is pickled when map is called.
            iterables: The n-th call gets the n-th element of each; the shortest one ends them.
            chunksize: Calls in one closure. None: one for up to 256 elements, more for thousands. In a closure
                of several calls, one that raises is called again in a closure of its own; if the closure itself
                fails, as when it loses its worker too often, all of its calls are.
            timeout: Seconds from now within which all results must be there.
            progress: Whether to show a bar of tqdm, if that is installed.
            buffersize: How many closures are submitted ahead of the results that were taken. None: all, before
                map returns. Pass it where the iterables are long or endless; chunksize is 1 then, unless given.

        Raises:
            TypeError: `fn`, or an element, cannot be pickled; buffersize is not an int.
            ValueError: chunksize or buffersize is less than 1; an argument is too large.
            UnavailableError: the session has ended.
        """
        if not iterables:
            raise TypeError("map needs at least one iterable")
        if buffersize is not None and not isinstance(buffersize, int):
            raise TypeError("buffersize must be an integer or None")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be None or > 0")
        if chunksize is None:
            sizes = [len(i) for i in iterables if isinstance(i, Sized)]
            chunksize = 1 if buffersize is not None else chunks_of(min(sizes) if sizes else None)
        if chunksize < 1:
            raise ValueError(f"chunksize: {chunksize}, must be at least 1")
        check_returns(fn)
        pickled = names.pickled(calls.dump_callable(Chunk(fn)), fn)
        along = self._along()._replace(output_in_bytes=True)

        def pack(chunk: Calls, first: int) -> Request:
            return packed_call(pickled, chunk, None, along, chunk[0] if len(chunk) == 1 else None, first)

        def submit(requests: list[Request]) -> list[RemoteValue[Any]]:
            return [RemoteValue(self._owner, r) for r in self._session.put(requests, self._options, True)]

        return iterate(Mapped(calls.name_of(fn), pack, submit, lambda r: arguments_of(r, self._session.blobs),
                              zip(*iterables), chunksize, buffersize, timeout, progress, along.show_arguments))

    @overload
    async def async_schedule(self, fn: Callable[..., T], args: Sequence[Any] | None = (),
                             kwargs: Mapping[str, Any] | None = None) -> RemoteValue[T]: ...
    @overload
    async def async_schedule(self, fn: str, args: Sequence[Any] | None = (),
                             kwargs: Mapping[str, Any] | None = None) -> RemoteValue[Any]: ...

    async def async_schedule(self, fn: Any, args: Sequence[Any] | None = (),
                             kwargs: Mapping[str, Any] | None = None) -> Any:
        """The same for a coroutine: other coroutines go on while the queue is full. Await the value
        itself for the result."""
        def schedule() -> RemoteValue[Any]:
            request = call_of(self._callables, fn, *given("async_schedule", fn, args, kwargs), self._along())
            return RemoteValue(self._owner, self._session.put((request,), self._options, stops=False)[0])

        with waiting():
            return await asyncio.get_running_loop().run_in_executor(None, schedule)


DEFAULT_SERVER = "127.0.0.1:8476"
NESTED_WEIGHT = 100
"""Of a coordinator that a closure makes: what the closure waits for comes before others that would wait
as well, or they would all begin and none end."""


class ClusterCoordinator(Scheduling, State):
    """Connects to a server, and schedules closures there; see the module.

    Use it in a ``with`` block, or `close` it, or let it be collected: the session lives as long as the coordinator, its
    options or one of its values is held.

    Args:
        server: "host:port", or several, tried in turn. None: in a function that runs on a worker, the worker's own
            server and cluster, with the worker's token and TLS files; else 127.0.0.1:8476.
        upload: Modules for all that is scheduled through it; see `options`.
        options: Those of :class:`muster.CoordinatorOptions`.

    It can be pickled, as an argument of a function. The pickle has the address and the cluster, no token, no TLS file and
    no upload. On a worker of the same server the copy connects as a coordinator without an address does. Elsewhere it
    connects to the address, with the worker's token and TLS files or those of the environment.
    """

    def __init__(self, server: str | Sequence[str] | None = None, *,
                 upload: Sequence[Uploadable] = (), **options: Unpack[CoordinatorWords]) -> None:
        check_names("ClusterCoordinator", options, CoordinatorOptions)
        own = home.find() if server is None else None
        if own is not None:
            options = {"cluster": own.cluster, **own.credentials(), **options}  # type: ignore[typeddict-item]
        servers = list(own.servers) if own is not None else addresses.checked(DEFAULT_SERVER if server is None else server)
        if current() is not None:
            options.setdefault("weight", NESTED_WEIGHT)
            options.setdefault("log_to_driver", False)  # it would print into the worker's own log
        uploads = (collect(upload),) if upload else ()
        session = Session(CoordinatorOptions(**options))
        callables = Callables()

        session.blobs = Blobs(servers, session.patience, session.options.tls, session.options.token,
                              memory.bytes_max(session.options.shm_bytes_max))

        def install(upload: Upload) -> PerWorkerValues:
            call = plain_call(callables, install_upload, (upload.digest, Large(upload.data)), None,
                              session.blobs)
            name = f"upload of {upload.names}"[:200]
            return PerWorkerValues(owner, session.create(call, name))

        session.link = Link(session, servers)
        owner = Owner(session, session.link)
        session.objects.owned_by(owner)
        self._known = Known()
        session.objects.tell_drops(self._known.forget)
        super().__init__(owner, callables, None, Uploads(install), uploads)

    def join(self, timeout: float | None = None) -> None:
        """Waits until nothing is left of what was scheduled before the call. Raises the pending
        error, UnavailableError, or WaitTimeout after `timeout` seconds."""
        self._session.join(timeout)

    async def async_join(self, timeout: float | None = None) -> None:
        """The same for a coroutine. Cancelled, it waits no longer; what is left goes on."""
        cut = self._session.cut()
        with waiting():
            try:
                await asyncio.get_running_loop().run_in_executor(None, self._session.join, timeout, cut, False)
            except asyncio.CancelledError:
                self._session.leave(cut)
                raise

    def done(self) -> bool:
        """Whether nothing is left. Waits only for the drain of an error, which it raises."""
        return self._session.done()

    def fetch(self, structure: Any, timeout: float | None = None) -> Any:
        """The same structure (tuples, named tuples, lists, dicts, nested) with every RemoteValue
        replaced by its value; other leaves stay. Raises as RemoteValue.fetch, the first error met;
        `timeout` is for all."""
        return fetch_structure(structure, timeout)

    async def async_fetch(self, structure: Any, timeout: float | None = None) -> Any:
        """The same for a coroutine. Cancelled, as by asyncio.wait_for, it cancels the closures."""
        with waiting(), contextlib.ExitStack() as noted:
            for value in values_of(structure):
                noted.enter_context(value._noted())
            try:
                return await asyncio.get_running_loop().run_in_executor(
                    None, fetch_structure, structure, timeout, False)
            except asyncio.CancelledError:
                for value in values_of(structure):
                    value.cancel()
                raise

    def create_per_worker_value(self, fn: Callable[..., Any], args: Sequence[Any] = (),
                                kwargs: Mapping[str, Any] | None = None, *,
                                name: str = "") -> PerWorkerValues:
        """Lets every worker of this Python version, now or later, call `fn` once and keep what it
        returns, which need not be picklable. Returns when the server has taken it, not when it is
        built. A builder's error is raised only by closures that use the value (InputError), and so is
        the loss of one worker after the other to the builder, which the server then runs again with
        pauses. An error or a cancel of closures does not touch it. Raises InputError (refused: too many),
        TypeError (the arguments must be plain), UnavailableError."""
        return PerWorkerValues(self._owner, self._build(fn, args, kwargs, name))

    def create_per_worker_dataset(self, dataset: Any, *, name: str = "") -> PerWorkerDataset:
        """From a function that makes an iterable, or from an iterable that can be pickled. ``iter``
        of the result is an argument for closures; in them it is an iterator of their worker, which
        begins at the beginning. ``muster.context()`` has index and num_workers, to shard by."""
        make = MakeDataset(dataset)
        named = name or names.builder_name(dataset)

        def iterator() -> PerWorkerIterator:
            built = self._build(IterateDataset(make), (), None, names.shown(f"iterator of {named}"))
            return PerWorkerIterator(self._owner, built)

        return PerWorkerDataset(self._owner, self._build(make, (), None, named), iterator)

    def create_distributed_dataset(self, splits: Iterable[Any], epochs: int = 1, *, read: Read | None = None,
                                   name: str = "", position: Mapping[str, Any] | None = None
                                   ) -> DistributedDataset:
        """Of splits (names of files, ranges, …) that the server deals out to functions, each once an epoch, unless
        a function fails or its worker is lost: then what it had drawn is dealt out again. As an argument it is an
        iterator of splits; with `read`, which makes an iterable of a split, of their elements. It begins at
        `position`, is part of checkpoints where it has a `name`, and goes when this coordinator closes. Raises InputError
        (refused: too many), ValueError (a position of something else), TypeError (cannot be pickled), UnavailableError."""
        data = [b"".join(calls.dump_inline((split,), {})) for split in splits]
        if not 0 < epochs < 1 << 32:
            raise ValueError(f"epochs: {epochs}, there is at least one")
        if position is not None and not {"epoch", "done"} <= set(position):
            raise ValueError("position: it is one that DistributedDataset.position has given")
        objects = self._session.objects_known(datasets=True)
        id = objects.make_dataset(name, data, epochs, position)
        made = DistributedDataset(id, name, epochs, read, objects.ticket, objects, owner=self._owner)
        if name:
            self._known.add(made, f"dataset:{name}")
        return made

    def _build(self, fn: Callable[..., Any], args: Sequence[Any],
               kwargs: Mapping[str, Any] | None, name: str) -> Any:
        if self._uploads:
            self._along()  # before it, so that their modules are those of later calls
            arguments, slots = calls.dump_arguments(tuple(args), dict(kwargs or {}))
            if not any(slots):  # else it is refused below
                name = name or names.builder_name(fn)
                fn = WithUploads([InstallUpload(u.digest, u.data) for u in self._uploads],
                                 self._callables.pickled(fn).data, b"".join(arguments))
                args, kwargs = (), None
        session = self._session
        request = plain_call(self._callables, fn, args, kwargs, session.blobs)
        return session.create(request, name or names.builder_name(fn))

    def create(self, cls: str | Callable[..., Any], args: Sequence[Any] = (),
               kwargs: Mapping[str, Any] | None = None, *, task: str | None = None, name: str = "",
               detached: bool = False, concurrency: int = 1, saved: bool | None = None) -> RemoteObject:
        """Makes ``cls(*args, **kwargs)`` on a task and returns its handle.

        The object is kept until it is deleted, its task is lost, or, unless `detached`, this coordinator closes. Returns
        when the server has accepted it; an error of the constructor is raised by its calls. Calls of one caller
        are executed in order.

        Args:
            cls: A class, or the name of a class that the task's worker has registered, in C++ or Python. Arguments and
                results are JSON with a name.
            task: "ps:0"; it can connect later. None: of the connected tasks that can run `cls`, the one with the
                fewest objects.
            name: Others find it by :meth:`get_object`. A detached object needs a name.
            concurrency: Methods that run at one time.
            saved: Whether checkpoints contain it, by ``save_state`` and ``load_state``. None: if `cls` has these.

        Raises:
            InputError: the server refused it: the name is taken, there are too many objects, or, without `task`, no
                connected task can run `cls`.
            TypeError: `cls` or an argument cannot be pickled.
            UnavailableError: the session has ended.
        """
        self._owner.session.check_process()
        job, index = task_of(task) if task is not None else ("", 0)
        if saved and not name:
            raise ValueError("saved: an object that checkpoints have needs a name")
        if concurrency < 0:  # what else is out of its limits the server says
            raise ValueError(f"concurrency: {concurrency}, must be at least 1")
        args, kwargs = given("create", cls, args, kwargs)
        words = {"job": job, "index": index, "name": name, "detached": detached, "concurrency": concurrency,
                 "class_name": names.shown(cls if isinstance(cls, str) else calls.name_of(cls))}
        if isinstance(cls, str):
            named = self._session.objects_known().create_named(words, cls, args, kwargs)
            if saved:
                self._known.add(named, name)
            return named
        function = self._callables.pickled(cls).data
        try:
            arguments = calls.dump_inline(tuple(args), dict(kwargs or {}))
        except Exception as error:
            unpicklable = calls.unpicklable(error, str(words["class_name"]), args, kwargs or {})
            if unpicklable is None:
                raise
            raise unpicklable from error
        if self._uploads:
            blobs = None if detached else self._session.blobs  # which go with the session
            arguments = self._sent.along(self._uploads, function, b"".join(arguments), blobs)
            function = self._callables.pickled(make_with_uploads).data
        made = self._session.objects_known().create(words, function, arguments)
        if saved or (saved is None and hasattr(cls, "save_state")):
            self._known.add(made, name)
        return made

    def cancel(self) -> None:
        """Cancels what is queued and asks what runs to stop. What is scheduled after it waits until
        they have, and is not concerned. No error is raised for it; each value has its own."""
        self._session.cancel()

    def failures(self) -> list[ClosureError]:
        """Errors of closures in the order in which they ended, cancelled ones left out: of this
        generation, or of the newest that failed. At most the first thousand."""
        return self._session.failures()

    def wait_open(self) -> str:
        """Waits until the server has opened the session; not needed before anything else. Returns
        its id, "job_…", as REST shows it. Raises UnavailableError."""
        return self._session.wait_open()

    def close(self) -> None:
        """Cancels what is left and closes the session; values that are here stay readable."""
        self._owner.close()

    def __enter__(self) -> ClusterCoordinator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _unpickled(servers: list[str], cluster: str, incarnation: int,
               scheduling: tuple[ClosureOptions | None, str] | None) -> Scheduling:
    """`incarnation`: of the server's process; 0: the pickled coordinator had not connected yet."""
    own = home.find()
    if own is not None and incarnation in (0, own.incarnation):
        made = ClusterCoordinator(cluster=cluster)
    else:
        credentials: Any = {} if own is None else own.credentials()
        made = ClusterCoordinator(servers, cluster=cluster, **credentials)
    if scheduling is None:
        return made
    options, name = scheduling
    return Scheduling(made._owner, made._callables, options, made._sent, (), name)
