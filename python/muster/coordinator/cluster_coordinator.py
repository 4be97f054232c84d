"""Runs functions on the workers of a cluster and waits for their results.

Example:
    ```python
    c = muster.ClusterCoordinator("127.0.0.1:8476")
    a = c.submit(load, "part-0")
    b = c.submit(train, a, rate=0.1)   # an output as an argument
    print(b.fetch())                   # raises the error of the function, if there is one
    ```

Each call runs at least once and has exactly one outcome. Calls can run in any order. Calls are either independent or
scheduled:

- Calls of `submit`, `map` and `put` are independent. The error of a call is raised only when you fetch its value.
- Calls of `schedule` and `schedule_many` have the semantics of TensorFlow's ClusterCoordinator. The first error cancels
  the other scheduled calls. Once all scheduled calls have ended, the next `schedule`, `join` or `done` raises the error
  once. The coordinator then starts the next generation and can be used again.

Every method can be called from any thread.
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
    """A coordinator whose calls have the given options. Returned by `ClusterCoordinator.options`."""

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
        """Returns a view of this coordinator whose calls have the given options.

        The coordinator stays open while the returned object exists.

        Args:
            upload: Modules, or paths of .py files, packages or directories that contain modules. The current files are
                sent to each worker once. Workers prefer these modules to their own modules. The modules are added to
                the uploads of this object.
            name: Display name of the calls, in place of the function name. The name must have 1 to 256 bytes.
            **changes: Fields of `muster.ClosureOptions` to change. All other fields keep their values.

        Returns:
            An object that uses the same session and has methods such as `submit`, `schedule` and `map`.

        Raises:
            TypeError: An option is unknown, or an element of `upload` is neither a module nor a path.
            FileNotFoundError: A path of `upload` does not exist.
            ValueError: A value is out of range, `name` is invalid, or an upload is larger than 1 GiB as a zip file.

        Example:
            ```python
            import muster

            with muster.LocalCluster(workers=1) as cluster, cluster.coordinator() as c:
                value = c.options(retries=2, timeout=60, task="worker:0").submit(pow, 2, 10)
                print(value.fetch())  # 1024
            ```
        """
        options = self._options
        if changes:
            check_names("options", changes, ClosureOptions)
            options = dataclasses.replace(options or ClosureOptions(), **changes)
        uploads = (collect(upload), *self._uploads) if upload else self._uploads
        name = names.checked(name) if name else self._plain_along.name
        return Scheduling(self._owner, self._callables, options, self._sent, uploads, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the function that creates a copy when this object is unpickled, with the function's arguments. See
        ClusterCoordinator.
        """
        session = self._session
        return _unpickled, (session.link.servers, session.options.cluster, session.incarnation,
                            None if isinstance(self, ClusterCoordinator) else (self._options, self._plain_along.name))

    def __copy__(self: S) -> S:
        """Returns the object itself, because a real copy would need its own session and credentials."""
        return self

    def __deepcopy__(self: S, memo: Any) -> S:
        return self

    @property
    def _session(self) -> Session:
        """Returns the session. Raises RuntimeError in a process that was forked after the session was opened."""
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
        """Runs ``fn(*args, **kwargs)`` on a worker and immediately returns a handle of the future result.

        The error of this call is raised only when you fetch its value, and does not cancel other calls. Errors of
        scheduled calls do not cancel this call. `join` waits for this call. While the queue is full, `submit` blocks.

        Args:
            fn: A callable, or the name of a function that workers provide. A callable is pickled. A plain function is
                pickled only at its first use, so workers see the values of its captured variables at that time. A
                function that is given by name takes JSON arguments.
            *args: Positional arguments. Arguments can contain RemoteValues and PerWorkerValues at any nesting depth.
                The function receives the actual values.
            **kwargs: Keyword arguments.

        Returns:
            A RemoteValue. Its `fetch` waits for the result.

        Raises:
            TypeError: `fn` or an argument cannot be pickled, or an argument of a named function cannot be encoded as
                JSON.
            ValueError: A part of the arguments is larger than 1 GiB.
            UnavailableError: The session has ended.

        Example:
            ```python
            import muster

            with muster.LocalCluster(workers=2) as cluster, cluster.coordinator() as c:
                total = c.submit(sum, [1, 2, 3])
                print(c.submit(pow, total, 2).fetch())  # 36
            ```
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
        """Asynchronous version of `submit`. Other coroutines run while the queue is full. Await the returned value to
        get the result.

        Args:
            fn: See `submit`.
            *args: Positional arguments.
            **kwargs: Keyword arguments.

        Returns:
            A RemoteValue.
        """
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
        """Runs ``fn(*args, **kwargs)`` on a worker, with the semantics of TensorFlow's ClusterCoordinator.

        The first error of a scheduled call cancels all other scheduled calls. Once all scheduled calls have ended, the
        next `schedule`, `join` or `done` raises the error once. Use `submit` for independent calls.

        Args:
            fn: See `submit`.
            args: All positional arguments, as a single sequence. None means no positional arguments.
            kwargs: Keyword arguments.

        Returns:
            A RemoteValue.

        Raises:
            ClosureError: An earlier scheduled call has failed. The new call was not scheduled.
            TypeError, ValueError, UnavailableError: See `submit`. TypeError also if `args` is not a sequence.
        """
        request = call_of(self._callables, fn, *given("schedule", fn, args, kwargs), self._along())
        return RemoteValue(self._owner, self._session.put((request,), self._options)[0])

    def _submit_for_fetch(self, fn: Function[T], args: Sequence[Any],
                          kwargs: Mapping[str, Any] | None, name: str = "") -> RemoteValue[T]:
        """Submits a call whose output cannot be an argument of other calls. An array in the output can therefore be
        sent without base64.
        """
        along = self._along()
        return self._submit(fn, args, kwargs, along._replace(output_in_bytes=True, name=along.name or name))

    def put(self, value: T) -> RemoteValue[T]:
        """Sends a value to the cluster once, so that many calls can use the value as an argument. Without `put`, the
        value is sent with each call.

        Args:
            value: Any value that can be pickled.

        Returns:
            A RemoteValue, which is the output of a separate call. Errors of other calls do not cancel the separate
            call.

        Raises:
            TypeError, ValueError, UnavailableError: See `submit`.
        """
        along = self._along()
        return self._submit(identity, (value,), None, along._replace(name=along.name or "put"))

    @overload
    def schedule_many(self, fn: Callable[..., T],
                      args: Iterable[Sequence[Any]]) -> list[RemoteValue[T]]: ...
    @overload
    def schedule_many(self, fn: str, args: Iterable[Sequence[Any]]) -> list[RemoteValue[Any]]: ...

    def schedule_many(self, fn: Any, args: Iterable[Sequence[Any]]) -> Any:
        """Schedules one call for each element of `args`, as `schedule` does. Blocks while the queue is full.

        Args:
            fn: See `submit`.
            args: An iterable with a sequence of positional arguments for each call. The iterable is read in batches of
                1,000 elements.

        Returns:
            One RemoteValue for each element, in the same order.

        Raises:
            ClosureError: An earlier scheduled call has failed. Some of the new calls may have been scheduled.
            TypeError, ValueError, UnavailableError: See `submit`.
        """
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
        """Calls `fn` on workers with the elements of the iterables, and returns an iterator over the results in input
        order.

        Calls are submitted as with `submit`. The iterator waits for the next result. If a call has failed, the iterator
        raises the error of the call, with a note that identifies the item. The remaining calls are cancelled after an
        error, and when a started iterator is closed or garbage-collected. Calls run even if you never read their
        results.

        Args:
            fn: A callable, which is pickled when `map` is called.
            *iterables: The n-th call receives the n-th element of each iterable. The shortest iterable determines the
                number of calls.
            chunksize: Number of calls that are sent together as a chunk. None means 1 if `buffersize` is set or there
                are at most 256 elements, and 16 if the length is unknown. Otherwise, None means about 256 chunks of at
                most 512 calls. If a call in a chunk raises an exception, the call is repeated separately. If a whole
                chunk fails, for example because its worker was lost too often, each of its calls is repeated
                separately.
            timeout: Seconds after the start of `map` within which the last result must be available. None means no
                limit.
            progress: Whether to show a progress bar, if tqdm is installed.
            buffersize: Number of chunks that are submitted before you read their results. If None, all chunks are
                submitted before `map` returns. Set `buffersize` for long or endless iterables.

        Returns:
            An iterator over the results, which raises WaitTimeout when `timeout` has expired.

        Raises:
            TypeError: `fn` or an element cannot be pickled, no iterable is given, or `buffersize` is not an int.
            ValueError: `chunksize` or `buffersize` is less than 1, or an argument is too large.
            UnavailableError: The session has ended.

        Example:
            ```python
            import muster

            with muster.LocalCluster(workers=2) as cluster, cluster.coordinator() as c:
                print(list(c.map(pow, [1, 2, 3], [2, 2, 2])))  # [1, 4, 9]
            ```
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
        """Asynchronous version of `schedule`. Other coroutines run while the queue is full. Await the returned value to
        get the result.

        Args:
            fn: See `submit`.
            args: All positional arguments, as a single sequence.
            kwargs: Keyword arguments.

        Returns:
            A RemoteValue.
        """
        def schedule() -> RemoteValue[Any]:
            request = call_of(self._callables, fn, *given("async_schedule", fn, args, kwargs), self._along())
            return RemoteValue(self._owner, self._session.put((request,), self._options, stops=False)[0])

        with waiting():
            return await asyncio.get_running_loop().run_in_executor(None, schedule)


DEFAULT_SERVER = "127.0.0.1:8476"
NESTED_WEIGHT = 100
"""Weight of a coordinator that a function on a worker creates. Calls that a function waits for must run before further
functions that would also wait. Otherwise all slots could be taken by waiting functions.
"""


class ClusterCoordinator(Scheduling, State):
    """Connects to a server and runs functions on its workers. The module docstring describes independent and scheduled
    calls.

    The session stays open while the program has a reference to the coordinator, to a result of `options` or to a value
    of the session. To end the session earlier, call `close` or use a ``with`` block.

    A coordinator can be pickled and passed to a function. The pickle contains the address and the cluster name, but no
    tokens, TLS files or uploads. On a worker of the same server, the copy connects like a coordinator without an
    address. In other processes, the copy connects to the pickled address, with the token and TLS files of the worker or
    the environment.

    Args:
        server: Address "host:port", or several addresses, which are tried in turn. In a function on a worker, None
            means the server, cluster, token and TLS files of the worker. In other processes, None means 127.0.0.1:8476.
        upload: Modules for all calls of this coordinator. See `options`.
        **options: Fields of `muster.CoordinatorOptions`.

    Raises:
        TypeError: An option is unknown.
        ValueError: An option or the address is invalid.

    Example:
        ```python
        import muster

        with muster.LocalCluster(workers=2) as cluster:
            with muster.ClusterCoordinator(cluster.address) as c:
                print(c.submit(sum, [1, 2, 3]).fetch())  # 6
        ```
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
            options.setdefault("log_to_driver", False)  # the lines would be printed into the worker's own log
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
        """Waits until all calls that were made before `join` have ended.

        Args:
            timeout: Seconds to wait. None means no limit.

        Raises:
            ClosureError: A scheduled call has failed. Each error is raised once.
            UnavailableError: The session has ended.
            WaitTimeout: Some calls are still waiting or running after `timeout`.
        """
        self._session.join(timeout)

    async def async_join(self, timeout: float | None = None) -> None:
        """Asynchronous version of `join`. If the awaiting task is cancelled, only the wait stops; the calls continue to
        run.

        Args:
            timeout: Seconds to wait. None means no limit.
        """
        cut = self._session.cut()
        with waiting():
            try:
                await asyncio.get_running_loop().run_in_executor(None, self._session.join, timeout, cut, False)
            except asyncio.CancelledError:
                self._session.leave(cut)
                raise

    def done(self) -> bool:
        """Returns whether all calls have ended.

        After `cancel`, or after the error of a scheduled call, `done` waits until the cancelled calls have ended.
        Otherwise `done` returns immediately.

        Raises:
            ClosureError: A scheduled call has failed. Each error is raised once.
            UnavailableError: The session has ended.
        """
        return self._session.done()

    def fetch(self, structure: Any, timeout: float | None = None) -> Any:
        """Waits for all RemoteValues in a structure, and returns the structure with their values in place of the
        RemoteValues.

        Args:
            structure: RemoteValues, also in tuples, named tuples, lists, dicts and dataclasses of any nesting depth.
                All other objects are returned unchanged.
            timeout: Seconds to wait for all values together. None means no limit.

        Returns:
            A structure with the same nesting and the same classes.

        Raises:
            ClosureError: A call has failed. Only the first error found is raised, as in `RemoteValue.fetch`.
            WaitTimeout: A value is not available within `timeout`.
        """
        return fetch_structure(structure, timeout)

    async def async_fetch(self, structure: Any, timeout: float | None = None) -> Any:
        """Asynchronous version of `fetch`. If the awaiting task is cancelled, for example by `asyncio.wait_for`, the
        calls are cancelled.

        Args:
            structure: RemoteValues in nested containers, as in `fetch`.
            timeout: Seconds to wait for all values together. None means no limit.

        Returns:
            A structure with the same nesting and the same classes.
        """
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
        """Makes each worker call `fn` once and store the result. The result can be a model or a connection, for
        example.

        The value is built on all workers with this Python version, including workers that connect later. The method
        returns when the server has accepted the value, and does not wait for the workers. If `fn` raises an error,
        calls that use the value fail with InputError. The same happens if several workers in a row are lost while they
        run `fn`; the server has the value built again after a pause. Errors and cancellation of other calls do not
        affect the value.

        Args:
            fn: A callable. Its result need not be picklable.
            args: Positional arguments. RemoteValues and PerWorkerValues are not allowed.
            kwargs: Keyword arguments. RemoteValues and PerWorkerValues are not allowed.
            name: Display name. Default: the name of `fn`.

        Returns:
            A value that can be an argument of calls. The called function receives the result that is stored on its
            worker.

        Raises:
            InputError: The server rejected the value because there are too many per-worker values.
            TypeError: The arguments contain a RemoteValue or PerWorkerValues, or cannot be pickled.
            UnavailableError: The session has ended.

        Example:
            ```python
            import muster

            with muster.LocalCluster(workers=2) as cluster, cluster.coordinator() as c:
                model = c.create_per_worker_value(dict, kwargs={"weight": 3})
                print(c.submit(lambda m, x: m["weight"] * x, model, 2).fetch())  # 6
            ```
        """
        return PerWorkerValues(self._owner, self._build(fn, args, kwargs, name))

    def create_per_worker_dataset(self, dataset: Any, *, name: str = "") -> PerWorkerDataset:
        """Creates an iterable on each worker. If you pass ``iter(dataset)`` of the returned dataset to a call, the
        function receives its worker's iterator, which starts at the beginning.

        Args:
            dataset: A function that returns an iterable, or an iterable that can be pickled. To read only a part of the
                data, the function can use ``muster.context().index`` and ``num_workers``.
            name: Display name. Default: the name of `dataset`.

        Returns:
            The dataset. Every ``iter(dataset)`` creates a new iterator on each worker.

        Raises:
            InputError, TypeError, UnavailableError: See `create_per_worker_value`.

        Example:
            ```python
            import muster

            with muster.LocalCluster(workers=1) as cluster, cluster.coordinator() as c:
                numbers = iter(c.create_per_worker_dataset(lambda: range(10)))
                print(c.submit(next, numbers).fetch(), c.submit(next, numbers).fetch())  # 0 1
            ```
        """
        make = MakeDataset(dataset)
        named = name or names.builder_name(dataset)

        def iterator() -> PerWorkerIterator:
            built = self._build(IterateDataset(make), (), None, names.shown(f"iterator of {named}"))
            return PerWorkerIterator(self._owner, built)

        return PerWorkerDataset(self._owner, self._build(make, (), None, named), iterator)

    def create_distributed_dataset(self, splits: Iterable[Any], epochs: int = 1, *, read: Read | None = None,
                                   name: str = "", position: Mapping[str, Any] | None = None
                                   ) -> DistributedDataset:
        """Creates a dataset whose splits the server distributes among the functions that read it.

        In each epoch, each split is assigned to a single function. If a function fails or its worker is lost, its
        splits are assigned again. The dataset is deleted when this coordinator closes. If the dataset has a `name`,
        checkpoints contain the dataset's position.

        Args:
            splits: Values that can be pickled, such as file names or ranges of rows.
            epochs: Number of times that all splits are read, at least 1.
            read: Function that is called on the worker with a split, and returns an iterable of the split's elements.
                If None, functions receive the splits themselves.
            name: Name of the dataset in checkpoints, and display name.
            position: Start position, as returned by `DistributedDataset.position`. None means the beginning.

        Returns:
            The dataset. If you pass the dataset to a call, the function receives an iterator.

        Raises:
            InputError: The server rejected the dataset because there are too many datasets or splits.
            TypeError: A split or `read` cannot be pickled.
            ValueError: `epochs` is less than 1, or `position` was not returned by `DistributedDataset.position`.
            UnavailableError: The session has ended, or the server is too old.

        Example:
            ```python
            import muster

            with muster.LocalCluster(workers=2) as cluster, cluster.coordinator() as c:
                dataset = c.create_distributed_dataset([10, 20, 30])
                print(c.submit(sum, dataset).fetch())  # 60
            ```
        """
        data = [b"".join(calls.dump_inline((split,), {})) for split in splits]
        if not 0 < epochs < 1 << 32:
            raise ValueError(f"epochs: {epochs}, must be at least 1")
        if position is not None and not {"epoch", "done"} <= set(position):
            raise ValueError("position: must be a result of DistributedDataset.position")
        objects = self._session.objects_known(datasets=True)
        id = objects.make_dataset(name, data, epochs, position)
        made = DistributedDataset(id, name, epochs, read, objects.ticket, objects, owner=self._owner)
        if name:
            self._known.add(made, f"dataset:{name}")
        return made

    def _build(self, fn: Callable[..., Any], args: Sequence[Any],
               kwargs: Mapping[str, Any] | None, name: str) -> Any:
        if self._uploads:
            self._along()  # called first, so that later calls use modules of the same upload
            arguments, slots = calls.dump_arguments(tuple(args), dict(kwargs or {}))
            if not any(slots):  # otherwise the argument is rejected below
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
        """Creates the object ``cls(*args, **kwargs)`` on a task and returns a handle of the object.

        The object exists until it is deleted or its task is lost. Unless it is `detached`, the object is also deleted
        when this coordinator closes. `create` returns when the server has accepted the object. If the constructor
        raises an error, calls of the object's methods raise the same error. Calls from the same caller are executed in
        order.

        Args:
            cls: A class, or the name of a C++ or Python class that the task's worker has registered. With a class name,
                arguments and results are JSON.
            args: Positional arguments of the constructor.
            kwargs: Keyword arguments of the constructor.
            task: Task of the object, for example "ps:0". The task can connect later. If None, the server chooses the
                connected task that can run `cls` and has the fewest objects.
            name: Name with which other programs find the object by calling `get_object`. A detached object must have a
                name.
            detached: Whether the object outlives this coordinator.
            concurrency: Number of method calls that can run at the same time.
            saved: Whether checkpoints contain the object. The object is saved and restored by its methods
                ``save_state`` and ``load_state``. None means True if `cls` has the method ``save_state``.

        Returns:
            The handle. ``handle.method(...)`` calls a method and returns a RemoteValue.

        Raises:
            InputError: The server rejected the object. Either the name is in use, there are too many objects, or `task`
                is None and no connected task can run `cls`.
            TypeError: `cls` or an argument cannot be pickled.
            ValueError: `concurrency` is negative, or `saved` is set without a `name`.
            UnavailableError: The session has ended.

        Example:
            ```python
            import collections

            import muster

            with muster.LocalCluster(workers=1) as cluster, cluster.coordinator() as c:
                counter = c.create(collections.Counter, ("abca",), name="letters")
                print(counter.most_common(1).fetch())  # [('a', 2)]
            ```
        """
        self._owner.session.check_process()
        job, index = task_of(task) if task is not None else ("", 0)
        if saved and not name:
            raise ValueError("saved: an object that is saved in checkpoints needs a name")
        if concurrency < 0:  # the server checks the other limits
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
            blobs = None if detached else self._session.blobs  # blobs are deleted with the session
            arguments = self._sent.along(self._uploads, function, b"".join(arguments), blobs)
            function = self._callables.pickled(make_with_uploads).data
        made = self._session.objects_known().create(words, function, arguments)
        if saved or (saved is None and hasattr(cls, "save_state")):
            self._known.add(made, name)
        return made

    def cancel(self) -> None:
        """Cancels all waiting calls and asks running calls to stop. `fetch` of a cancelled value raises CancelledError.

        Returns immediately. Calls that are made after `cancel` start when the cancelled calls have ended. `join` and
        `done` do not raise an error for the cancellation.
        """
        self._session.cancel()

    def failures(self) -> list[ClosureError]:
        """Returns the errors of failed calls, without cancelled calls, in the order in which the calls ended.

        The errors belong to the current generation. If no call of this generation has failed, the errors belong to the
        last generation with an error. The list has at most 1,000 elements.
        """
        return self._session.failures()

    def wait_open(self) -> str:
        """Waits until the server has opened the session. Other methods can be called without calling `wait_open` first.

        Returns:
            The session id, "job_…", as in the REST API.

        Raises:
            UnavailableError: The server did not answer within `connect_timeout`, or the session has ended.
        """
        return self._session.wait_open()

    def close(self) -> None:
        """Cancels all calls that have not ended and closes the session. Values that this process has already received
        can still be fetched.
        """
        self._owner.close()

    def __enter__(self) -> ClusterCoordinator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _unpickled(servers: list[str], cluster: str, incarnation: int,
               scheduling: tuple[ClosureOptions | None, str] | None) -> Scheduling:
    """Returns the copy of a coordinator. `incarnation` is the incarnation of the server process, or 0 if the pickled
    coordinator had not connected yet.
    """
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
