"""TensorFlow's parameter-server API, for programs that run on Muster without TensorFlow.

::

    from muster import tf_compat as tf   # in place of: import tensorflow as tf

    strategy = tf.distribute.experimental.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver())
    coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)

Functions are Python functions, and arrays are numpy arrays. Graphs, Keras and automatic differentiation are not
supported. docs/tensorflow-compatibility.md lists the supported names.
"""
from __future__ import annotations

import contextlib
import itertools
import os
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

import muster
from muster.worker.context import context as worker_context

if TYPE_CHECKING:
    from muster.coordinator.cluster_coordinator import ClusterCoordinator as Underlying
    from muster.coordinator.remote_value import PerWorkerDataset, RemoteValue
    from muster.variables.making import AnyVariable

_scopes = threading.local()


class InputContext(NamedTuple):
    """Argument of a dataset function. The function uses the InputContext to select its shard of the data.

    Attributes:
        num_input_pipelines: Number of workers.
        input_pipeline_id: Index of this worker.
        num_replicas_in_sync: Always 1.
    """

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Returns `global_batch_size` divided by the number of replicas."""
        return global_batch_size // self.num_replicas_in_sync


class ParameterServerStrategy:
    """A parameter-server strategy. The tasks of the job `ps` store the strategy's variables.

    Args:
        cluster_resolver: A resolver, for example from `muster.resolver`. Variables are placed in turn on the tasks of
            the resolver's job ``ps``. Without a resolver or a job ``ps``, all variables are placed on ``ps:0``.
        variable_partitioner: Partitioner that splits variables by row, for example ``muster.MinSizePartitioner``.
        server: Address of the Muster server. None means ``MUSTER_COORDINATOR``, otherwise ``127.0.0.1:8476``.
        **options: Options of `muster.ClusterCoordinator`.
    """

    num_replicas_in_sync = 1

    def __init__(self, cluster_resolver: Any = None, variable_partitioner: Any = None, *, server: str | None = None,
                 **options: Any) -> None:
        self.cluster_resolver = cluster_resolver
        self._partitioner = variable_partitioner
        self._server = server or os.environ.get("MUSTER_COORDINATOR") or "127.0.0.1:8476"
        self._options = options
        self._lock = threading.Lock()  # protects the fields below
        self._made: Underlying | None = None
        self._tasks: list[str] = []
        self._placed = 0

    @property
    def underlying(self) -> Underlying:
        """The ``muster.ClusterCoordinator`` of this strategy, for example for checkpoints."""
        with self._lock:
            if self._made is None:
                self._made = muster.ClusterCoordinator(self._server, **self._options)
            return self._made

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Returns a context manager. Inside its ``with`` block, ``tf.Variable`` creates variables of this strategy."""
        outer = getattr(_scopes, "strategy", None)
        _scopes.strategy = self
        try:
            yield
        finally:
            _scopes.strategy = outer

    def run(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Calls ``fn(*args, **kwargs)`` once and returns its result, because each worker is a single replica."""
        return fn(*args, **(kwargs or {}))

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """Returns the dataset of this worker.

        Args:
            dataset_fn: Function that is called with an InputContext and returns the dataset.
            options: Ignored.
        """
        c = worker_context()
        return dataset_fn(InputContext(c.num_workers, c.index))

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Returns `dataset` unchanged. Every worker reads the whole dataset, in its own order. `options` is ignored."""
        return dataset

    def variable(self, initial_value: Any, name: str) -> AnyVariable:
        """Creates a variable from a numpy array.

        The variable is placed on the next parameter server. If the strategy has a partitioner and the variable has
        rows, the variable is split across all parameter servers.

        Args:
            initial_value: A numpy array.
            name: Name of the variable.

        Returns:
            A ``muster.RemoteVariable`` or ``muster.ShardedVariable``.
        """
        with self._lock:
            if not self._tasks:
                jobs = {} if self.cluster_resolver is None else self.cluster_resolver.cluster_spec()
                jobs = jobs.as_dict() if hasattr(jobs, "as_dict") else jobs
                self._tasks = [f"ps:{i}" for i in range(len(jobs.get("ps", ())))] or ["ps:0"]
            task = self._tasks[self._placed % len(self._tasks)]
            self._placed += 1
        if self._partitioner is not None and initial_value.shape:
            return self.underlying.variable(initial_value, name=name, partitioner=self._partitioner, tasks=self._tasks)
        return self.underlying.variable(initial_value, name=name, task=task)

    def __reduce__(self) -> Any:
        """Pickles the strategy without its coordinator and variables, for use in functions on workers."""
        return _strategy_of_worker, ()


def _strategy_of_worker() -> ParameterServerStrategy:
    return ParameterServerStrategy()


class Variable:
    """A variable of a strategy. Create the variable inside a ``with strategy.scope():`` block. Functions can capture
    the variable.

    Each method returns after the parameter server has answered. The attribute ``remote`` is the handle of the variable.

    Args:
        initial_value: An array, or a callable that returns an array.
        trainable: Value of the attribute ``trainable``. None means True.
        name: Name of the variable.
        dtype: Type of the elements. None means the type of `initial_value`.
        **ignored: Accepted and ignored.

    Raises:
        RuntimeError: The variable was created outside ``strategy.scope()``.
    """

    def __init__(self, initial_value: Any = None, trainable: bool | None = None, name: str = "", dtype: Any = None,
                 **ignored: Any) -> None:
        import numpy

        strategy = getattr(_scopes, "strategy", None)
        if strategy is None:
            raise RuntimeError("tf.Variable: create variables inside a 'with strategy.scope():' block")
        value = initial_value() if callable(initial_value) else initial_value
        self.remote: Any = strategy.variable(numpy.asarray(value, dtype), name)
        """The handle: a ``muster.RemoteVariable``, or a ``muster.ShardedVariable``."""
        self.trainable = trainable is not False

    def assign(self, value: Any) -> None:
        """Replaces the value of the variable."""
        self.remote.assign(value).fetch()

    def assign_add(self, delta: Any) -> None:
        """Adds `delta` to the variable."""
        self.remote.assign_add(delta).fetch()

    def assign_sub(self, delta: Any) -> None:
        """Subtracts `delta` from the variable."""
        self.remote.assign_sub(delta).fetch()

    def read_value(self) -> Any:
        """Returns the value of the variable as a numpy array."""
        return self.remote.read().fetch()

    numpy = value = read_value

    @property
    def shape(self) -> Any:
        """Shape of the variable."""
        return self.remote.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.remote.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        return numpy.asarray(self.read_value(), dtype)

    def __repr__(self) -> str:
        return f"<tf_compat.Variable {self.remote!r}>"


class ClusterCoordinator:
    """Schedules functions on the workers of a strategy. All coordinators of a strategy share the same session.

    Args:
        strategy: A ParameterServerStrategy of this module.

    Raises:
        ValueError: `strategy` is not a ParameterServerStrategy of this module.
    """

    def __init__(self, strategy: ParameterServerStrategy) -> None:
        if not isinstance(strategy, ParameterServerStrategy):
            raise ValueError("Only `tf.distribute.experimental.ParameterServerStrategy` is supported to work with "
                             f"`ClusterCoordinator`; this is a {type(strategy).__name__}")
        self._strategy = strategy
        self._underlying = strategy.underlying

    @property
    def strategy(self) -> ParameterServerStrategy:
        """The strategy of this coordinator."""
        return self._strategy

    def schedule(self, fn: Callable[..., Any], args: Sequence[Any] | None = None,
                 kwargs: Mapping[str, Any] | None = None) -> RemoteValue[Any]:
        """Schedules ``fn(*args, **kwargs)`` on a worker and returns its RemoteValue. See
        ``muster.ClusterCoordinator.schedule``.
        """
        return self._underlying.schedule(fn, args, kwargs)

    def join(self) -> None:
        """Waits until all scheduled functions have ended. See ``muster.ClusterCoordinator.join``."""
        self._underlying.join()

    def done(self) -> bool:
        """Returns whether all scheduled functions have ended."""
        return self._underlying.done()

    def fetch(self, val: Any) -> Any:
        """Waits for RemoteValues and returns the fetched values. See ``muster.ClusterCoordinator.fetch``."""
        return self._underlying.fetch(val)

    def create_per_worker_dataset(self, dataset_fn: Any) -> PerWorkerDataset:
        """Creates a dataset on each worker. See ``muster.ClusterCoordinator.create_per_worker_dataset``."""
        return self._underlying.create_per_worker_dataset(dataset_fn)


class Dataset:
    """An iterable that can be iterated several times.

    Args:
        make: Function that returns a new iterator.
    """

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self._make = make

    @staticmethod
    def from_tensor_slices(values: Any) -> Dataset:
        """Returns a dataset of the elements of a sequence. If `values` is a tuple of sequences, each element of the
        dataset is a tuple.
        """
        return Dataset(lambda: zip(*values) if isinstance(values, tuple) else iter(values))

    @staticmethod
    def from_generator(generator: Callable[[], Iterable[Any]], **ignored: Any) -> Dataset:
        """Returns a dataset of the elements that `generator` yields. `generator` is called once for each iteration over
        the dataset.
        """
        return Dataset(lambda: iter(generator()))

    @staticmethod
    def range(*of: int) -> Dataset:
        """Returns a dataset of the numbers in ``range(*of)``."""
        return Dataset(lambda: iter(range(*of)))

    def repeat(self, count: int | None = None) -> Dataset:
        """Returns a dataset that repeats the elements `count` times, or endlessly if `count` is None or -1."""
        times: Callable[[], Iterable[Any]] = itertools.count if count is None or count < 0 else lambda: range(count)
        return Dataset(lambda: itertools.chain.from_iterable(self for _ in times()))

    def map(self, fn: Callable[..., Any], **ignored: Any) -> Dataset:
        """Returns a dataset with the result of `fn` for each element. If an element is a tuple, its items are passed to
        `fn` as separate arguments.
        """
        return Dataset(lambda: (fn(*x) if isinstance(x, tuple) else fn(x) for x in self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Returns a dataset of every `num_shards`-th element, starting at element `index`."""
        return Dataset(lambda: itertools.islice(iter(self), index, None, num_shards))

    def take(self, count: int) -> Dataset:
        """Returns a dataset of the first `count` elements."""
        return Dataset(lambda: itertools.islice(iter(self), count))

    def batch(self, batch_size: int, drop_remainder: bool = False, **ignored: Any) -> Dataset:
        """Returns a dataset of batches. Each batch combines `batch_size` elements into a numpy array, or into a tuple
        of arrays.

        Args:
            batch_size: Number of elements in a batch.
            drop_remainder: Whether to drop the last batch if it is smaller.
            **ignored: Accepted and ignored.
        """
        def make() -> Iterator[Any]:
            import numpy

            each = iter(self)
            while some := list(itertools.islice(each, batch_size)):
                if len(some) == batch_size or not drop_remainder:
                    parts = isinstance(some[0], tuple)
                    yield tuple(map(numpy.asarray, zip(*some))) if parts else numpy.asarray(some)

        return Dataset(make)

    def shuffle(self, buffer_size: int, seed: int | None = None, **ignored: Any) -> Dataset:
        """Returns a dataset with the elements in random order, shuffled with a buffer of `buffer_size` elements.

        Args:
            buffer_size: Number of elements in the buffer.
            seed: Seed of the random order. None means a different order in each iteration.
            **ignored: Accepted and ignored.
        """
        def make() -> Iterator[Any]:
            import random

            chosen, buffer = random.Random(seed), []
            for x in self:
                buffer.append(x)
                if len(buffer) > buffer_size:
                    yield buffer.pop(chosen.randrange(len(buffer)))
            chosen.shuffle(buffer)
            yield from buffer

        return Dataset(make)

    def prefetch(self, buffer_size: int, **ignored: Any) -> Dataset:
        """Returns the dataset itself."""
        return self

    def __iter__(self) -> Iterator[Any]:
        return self._make()


def function(func: Callable[..., Any] | None = None, **ignored: Any) -> Any:
    """Returns `func` unchanged, because there are no graphs. Use `function` as a decorator, with or without arguments.
    """
    return func if func is not None else (lambda f: f)


def _tf_config_resolver(task_type: str | None = None, task_id: int | None = None,
                        rpc_layer: str | None = None, environment: Any = None) -> Any:
    return _resolver("tf-config", task_type=task_type, task_id=task_id, rpc_layer=rpc_layer)


def _tpu_resolver(tpu: Any = None, zone: str | None = None, project: str | None = None, job_name: str = "worker",
                  coordinator_name: str | None = None, coordinator_address: str | None = None,
                  credentials: Any = "default", service: Any = None, discovery_url: str | None = None,
                  **more: Any) -> Any:
    """Creates a resolver from the arguments of TPUClusterResolver. `more` contains the arguments `list_devices` and
    `start_coordinator` of `muster.resolver`.
    """
    if isinstance(tpu, (list, tuple)):
        if not tpu:
            raise ValueError("At least one TPU must be specified.")
        if len(tpu) > 1:
            raise NotImplementedError("Using multiple TPUs in a single session is not yet implemented")
        tpu = tpu[0]
    return _resolver("tpu", name=tpu, zone=zone, project=project, job=job_name, coordinator_name=coordinator_name,
                     coordinator_address=coordinator_address, discovery_url=discovery_url,
                     of={"credentials": credentials, "service": service, **more})


def _resolver(kind: str, of: Mapping[str, Any] | None = None, **keys: Any) -> Any:
    words = ";".join(f"{name}={value}" for name, value in keys.items() if value is not None)
    return muster.resolver(f"{kind}:{words}" if words else kind, **(of or {}))


_coordinator = SimpleNamespace(ClusterCoordinator=ClusterCoordinator)
_partitioners = SimpleNamespace(MinSizePartitioner=muster.MinSizePartitioner, MaxSizePartitioner=muster.MaxSizePartitioner,
                                FixedShardsPartitioner=muster.FixedShardsPartitioner)
distribute: Any = SimpleNamespace(
    ParameterServerStrategy=ParameterServerStrategy, InputContext=InputContext, coordinator=_coordinator,
    experimental=SimpleNamespace(ParameterServerStrategy=ParameterServerStrategy, coordinator=_coordinator,
                                 partitioners=_partitioners),
    cluster_resolver=SimpleNamespace(TFConfigClusterResolver=_tf_config_resolver, TPUClusterResolver=_tpu_resolver))
data: Any = SimpleNamespace(Dataset=Dataset, from_tensor_slices=Dataset.from_tensor_slices)
errors: Any = SimpleNamespace(UnavailableError=muster.UnavailableError, CancelledError=muster.CancelledError,
                              AbortedError=muster.AbortedError, OutOfRangeError=StopIteration)
