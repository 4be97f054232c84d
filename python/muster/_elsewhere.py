"""Maps names of the Ray and Dask APIs to their replacements in Muster. Private."""
from __future__ import annotations

from typing import Mapping, NoReturn

_SUBMIT = "coordinator.submit(fn, *args); a function needs no decorator"
_FETCH = "value.fetch(timeout), or coordinator.fetch([value, ...]) for several"
_NUM_RETURNS = ("a tuple as the return value, and take its elements on a worker: "
                "coordinator.submit(operator.itemgetter(0), value)")
_STREAM = "a list as the return value, or one call for each part and muster.as_completed(values)"

MODULE = {
    "init": "muster.LocalCluster() for a cluster on this machine, or muster.ClusterCoordinator(\"host:port\")",
    "shutdown": "coordinator.close(), or a with block",
    "is_initialized": "muster.ClusterCoordinator(...).wait_open()",
    "remote": _SUBMIT + "; for a class, coordinator.create(cls, args)",
    "delayed": _SUBMIT,
    "get": _FETCH,
    "compute": _FETCH,
    "gather": _FETCH,
    "put": "coordinator.put(value)",
    "scatter": "coordinator.put(value)",
    "submit": "coordinator.submit(fn, *args)",
    "map": "coordinator.map(fn, iterable)",
    "kill": "handle.delete() for an object, value.cancel() for a call",
    "cancel": "value.cancel(), or coordinator.cancel() for all",
    "get_actor": "coordinator.get_object(name)",
    "method": "coordinator.create(cls, args, concurrency=N); a method call has one value",
    "nodes": "muster.Client(url).tasks()",
    "cluster_resources": "muster.Client(url).tasks()",
    "available_resources": "muster.Client(url).tasks()",
    "get_runtime_context": "muster.context() in a function on a worker",
    "get_worker": "muster.context() in a function on a worker",
    "timeline": "the dashboard",
    "progress": "muster.as_completed(values, progress=True)",
    "ObjectRef": "muster.RemoteValue",
}
COORDINATOR = {
    "get": "coordinator.fetch(values)",
    "gather": "coordinator.fetch(values)",
    "compute": "coordinator.submit(fn, *args)",
    "persist": "coordinator.submit(fn, *args)",
    "result": "coordinator.fetch(values)",
    "wait": "muster.wait(values, num_returns=1, timeout=None)",
    "as_completed": "muster.as_completed(values)",
    "scatter": "coordinator.put(value)",
    "remote": _SUBMIT,
    "kill": "handle.delete() for an object, value.cancel() for a call",
    "run": "coordinator.create_per_worker_value(fn)",
    "retry": "coordinator.options(retries=2).submit(fn, *args)",
    "get_actor": "coordinator.get_object(name)",
    "shutdown": "coordinator.close()",
    "nthreads": "muster.Client(url).tasks()",
    "ncores": "muster.Client(url).tasks()",
    "scheduler_info": "muster.Client(url).tasks()",
    "cluster_resources": "muster.Client(url).tasks()",
    "upload_file": "coordinator.options(upload=[path])",
    "get_executor": "muster.Executor(\"host:port\")",
    "dashboard_link": "the url of LocalCluster, or the HTTP address of the server",
    "num_returns": _NUM_RETURNS,
}
VALUE = {
    "result": "value.fetch(timeout)",
    "exception": "value.fetch(timeout), which raises it, or value.future().exception()",
    "traceback": "error.remote_traceback of the error that value.fetch() raises",
    "wait": "muster.wait([value], timeout=10)",
    "ready": "value.done()",
    "running": "value.status",
    "cancelled": "value.cancel(); its fetch then raises muster.CancelledError",
    "retry": "coordinator.options(retries=2).submit(fn, *args)",
    "release": "del value",
    "key": "repr(value)",
    "then": "value.add_done_callback(fn), or pass the value to another call",
    "remote": "coordinator.submit(fn, value)",
    "compute": "value.fetch(timeout)",
    "completed": _STREAM,
}
METHOD = {
    "remote": "handle.method(*args), without .remote",
    "options": "coordinator.create(cls, args, concurrency=N)",
    "bind": "handle.method(*args)",
}
OPTIONS = {
    "num_cpus": "resources={'cpu': 2} for a counted resource, or slots of the worker",
    "num_gpus": "resources={'gpu': 1}",
    "max_retries": "retries=2",
    "retry_exceptions": "retries=2",
    "deadline": "timeout=60",
    "num_returns": _NUM_RETURNS,
    "max_concurrency": "coordinator.create(cls, args, concurrency=N)",
    "max_workers": "muster.LocalCluster(workers=N), or start more workers",
    "max_calls": "python -m muster worker",
    "runtime_env": "upload=[module]",
    "workers": "task='worker:3' or labels={...}",
    "scheduling_strategy": "task='worker:3' or labels={...}",
    "initializer": "coordinator.create_per_worker_value(fn)",
}


LOCAL_CLUSTER = {
    "submit": "cluster.coordinator().submit(fn, *args)",
    "map": "cluster.coordinator().map(fn, iterable)",
    "get_client": "cluster.coordinator()",
    "scale": "LocalCluster(workers=N)",
    "adapt": "LocalCluster(workers=N)",
    "dashboard_link": "cluster.url",
    "scheduler_address": "cluster.address",
    "shutdown": "cluster.close()",
}


def missing(of: str, name: str, instead: Mapping[str, str]) -> NoReturn:
    """Raises an AttributeError whose message names the replacement in Muster."""
    hint = instead.get(name)
    raise AttributeError(f"{of} has no attribute {name!r}" + (f"; use {hint}" if hint else ""))


class _Absent:
    """An attribute that a class does not have. Reading the attribute raises an AttributeError whose message names the
    replacement.
    """

    def __init__(self, of: str, name: str, instead: Mapping[str, str]) -> None:
        self._of = of
        self._name = name
        self._instead = instead

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        missing(f"{self._of!r} object", self._name, self._instead)

    def __repr__(self) -> str:
        return f"<not an attribute; use {self._instead[self._name]}>"


class Hints:
    """Base class of classes that suggest replacements for the names in `_instead`. It does not use `__getattr__`, which
    would make every attribute access slower.
    """

    __slots__ = ()
    _instead: Mapping[str, str] = {}
    _shown = "object"
    """Public name of the class."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in cls._instead:
            found = [vars(k)[name] for k in cls.__mro__ if name in vars(k)]
            real = [each for each in found if not isinstance(each, _Absent)]
            if not found:
                setattr(cls, name, _Absent(cls._shown, name, cls._instead))
            elif real and found[0] is not real[0]:  # a later base class provides the attribute
                setattr(cls, name, real[0])

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in self._instead or hasattr(self, name)]
