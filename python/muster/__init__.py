"""Python client and Python worker of Muster. The client runs functions on a cluster of workers.

Names are imported when they are first used. Therefore the package is imported quickly, and worker processes do not need
gRPC.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.agent.agent import Agent, TaskState
    from muster.agent.errors import AgentError, BarrierError, CoordinationError
    from muster.coordinator.cluster_coordinator import ClusterCoordinator
    from muster.coordinator.log_lines import LogLine, Logs
    from muster.coordinator.options import ClosureOptions, CoordinatorOptions
    from muster.coordinator.remote_value import (PerWorkerDataset, PerWorkerIterator,
                                                 PerWorkerValues, RemoteValue, RemoteValueStatus)
    from muster.coordinator.structure import as_completed
    from muster.coordinator.waits import async_wait, wait
    from muster.distribute.context import WorkerContext, get_current_worker_context
    from muster.distribute.coordinator import run_distribute_coordinator
    from muster.errors import (AbortedError, Cancelled, CancelledError, ClosureError,
                               DependencyLost, FailureKind, InputError, MusterError,
                               NotServedError, TimedOutError, UnavailableError, WaitTimeout)
    from muster.executor import Executor
    from muster.local.cluster import LocalCluster
    from muster.objects.dataset import DistributedDataset
    from muster.objects.failures import handle_parameter_server_failure
    from muster.objects.handle import RemoteObject
    from muster.resolvers import Resolver, ResolverError, resolver
    from muster.rest.client import Client, Job
    from muster.rest.coordination import CoordinationClient
    from muster.rest.http import NoServer, ServerError
    from muster.rest.programs import Program, ProgramFailedError, get_program, launch, programs
    from muster.steps import step
    from muster.variables.handle import RemoteVariable
    from muster.variables.partitioners import (FixedShardsPartitioner, MaxSizePartitioner,
                                               MinSizePartitioner)
    from muster.variables.sharded import ShardedVariable
    from muster.worker.context import Context, context
    from muster.worker.functions import function
    from muster.worker.options import WorkerOptions
    from muster.worker.worker import Worker

_HOMES = {
    "muster.agent.agent": "Agent TaskState",
    "muster.agent.errors": "AgentError BarrierError CoordinationError",
    "muster.coordinator.cluster_coordinator": "ClusterCoordinator",
    "muster.coordinator.log_lines": "LogLine Logs",
    "muster.coordinator.options": "ClosureOptions CoordinatorOptions",
    "muster.coordinator.remote_value": ("PerWorkerDataset PerWorkerIterator PerWorkerValues "
                                        "RemoteValue RemoteValueStatus"),
    "muster.coordinator.structure": "as_completed",
    "muster.coordinator.waits": "async_wait wait",
    "muster.distribute.context": "WorkerContext get_current_worker_context",
    "muster.distribute.coordinator": "run_distribute_coordinator",
    "muster.errors": ("AbortedError Cancelled CancelledError ClosureError DependencyLost "
                      "FailureKind InputError MusterError NotServedError TimedOutError "
                      "UnavailableError WaitTimeout"),
    "muster.executor": "Executor",
    "muster.local.cluster": "LocalCluster",
    "muster.objects.dataset": "DistributedDataset",
    "muster.objects.failures": "handle_parameter_server_failure",
    "muster.objects.handle": "RemoteObject",
    "muster.resolvers": "Resolver ResolverError resolver",
    "muster.rest.client": "Client Job",
    "muster.rest.coordination": "CoordinationClient",
    "muster.rest.http": "NoServer ServerError",
    "muster.rest.programs": "Program ProgramFailedError get_program launch programs",
    "muster.steps": "step",
    "muster.variables.handle": "RemoteVariable",
    "muster.variables.partitioners": ("FixedShardsPartitioner MaxSizePartitioner "
                                      "MinSizePartitioner"),
    "muster.variables.sharded": "ShardedVariable",
    "muster.worker.context": "Context context",
    "muster.worker.functions": "function",
    "muster.worker.options": "WorkerOptions",
    "muster.worker.worker": "Worker",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = [  # written out, because type checkers read this list
    "AbortedError", "Agent", "AgentError", "BarrierError", "Cancelled", "CancelledError", "Client",
    "ClosureError", "ClosureOptions", "ClusterCoordinator", "Context", "CoordinationClient",
    "CoordinationError", "CoordinatorOptions", "DependencyLost", "DistributedDataset", "Executor", "FailureKind",
    "FixedShardsPartitioner", "InputError", "Job", "LocalCluster", "LogLine", "Logs",
    "MaxSizePartitioner", "MinSizePartitioner", "MusterError", "NoServer", "NotServedError",
    "PerWorkerDataset", "PerWorkerIterator", "PerWorkerValues", "Program", "ProgramFailedError",
    "RemoteObject", "RemoteValue", "RemoteValueStatus", "RemoteVariable", "Resolver", "ResolverError",
    "ServerError",
    "ShardedVariable", "TaskState", "TimedOutError", "UnavailableError", "WaitTimeout", "Worker",
    "WorkerContext", "WorkerOptions", "as_completed", "async_wait", "context", "function",
    "get_current_worker_context", "get_program", "handle_parameter_server_failure", "launch",
    "programs", "resolver", "run_distribute_coordinator", "step", "wait",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("distribute", "jax", "tensorflow", "tf_compat"):
        return importlib.import_module("muster." + name)
    if name not in _HOME:
        _elsewhere = importlib.import_module("muster._elsewhere")
        _elsewhere.missing("module 'muster'", name, _elsewhere.MODULE)
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
