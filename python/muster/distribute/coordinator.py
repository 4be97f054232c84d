"""The modes of run_distribute_coordinator. A mode determines which functions run, and the tasks, threads and servers of
these functions.
"""
from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, Callable, Mapping

from muster.distribute.cluster import cluster_of, is_chief, trainers
from muster.distribute.context import WorkerContext, get_current_worker_context
from muster.distribute.inputs import CoordinatorMode, Job, Part, Task, announce, complete, name_of
from muster.distribute.servers import Factory, ServerConfig, StandardServer, serve_until_end, server_of_this_thread, worker_servers
from muster.distribute.strategy import Strategy, configure, copy_of, running_server
from muster.distribute.threads import Barrier, Threads

if TYPE_CHECKING:
    from muster.agent.agent import Agent

MEETING = "muster/wait_for_other_workers"
"""Name of the barrier for agents of worker functions."""


def run_distribute_coordinator(worker_fn: Callable[[Any], Any], strategy: Any = None,
                               eval_fn: Callable[[Any], Any] | None = None, eval_strategy: Any = None,
                               mode: CoordinatorMode | str = CoordinatorMode.STANDALONE_CLIENT,
                               cluster_spec: Any = None, task_type: str | None = None,
                               task_id: int | None = None, session_config: Mapping[str, Any] | None = None,
                               rpc_layer: str = "grpc", *, servers: Factory | None = None,
                               agent: Agent | None = None, barrier_timeout: float = 3600.0,
                               stop_grace: float = 120.0, environment: Mapping[str, str] | None = None) -> Any:
    """Runs ``worker_fn(strategy)`` in the tasks of a cluster.

    The cluster and the task are taken from the arguments, otherwise from TF_CONFIG, otherwise from the strategy's
    resolver. `muster run` and `muster launch` set TF_CONFIG, and `muster.resolver` returns a resolver.
    docs/distribute-coordinator.md describes the modes. In the function, ``get_current_worker_context()`` returns a
    description of the task. The first error stops the other tasks and is raised.

    Args:
        worker_fn: Function that is called with a configured copy of the strategy.
        strategy: A ``muster.distribute.Strategy``, an object with the same members, or a TensorFlow strategy. If None,
            the function runs once for each chief and worker.
        eval_fn: Function for an evaluator. None means `worker_fn`.
        eval_strategy: Strategy for an evaluator. If None, the evaluator runs without a strategy.
        mode: With ``"standalone_client"``, this process runs the functions of all tasks. With ``"independent_worker"``,
            each task calls `run_distribute_coordinator`.
        cluster_spec: The cluster, such as ``{"worker": ["host:port"]}``.
        task_type: Job of this process.
        task_id: Index of this process in its job.
        session_config: Configuration for sessions, as a dict.
        rpc_layer: Protocol of a master address, which precedes ``://``.
        servers: Function that creates the servers of tasks. If None, a task that only runs a server becomes a worker of
            the Muster server in MUSTER_COORDINATOR, and a task that runs the function has no server.
        agent: A connected ``muster.Agent`` of this task. Independent workers use it in ``wait_for_other_workers``.
        barrier_timeout: Seconds that ``wait_for_other_workers`` waits for the other tasks.
        stop_grace: Seconds that the other functions have to return after a function has failed.
        environment: Mapping to use instead of ``os.environ``.

    Returns:
        The result of the function if there is a cluster and the function runs once on this thread, otherwise None. A
            task that only runs a server returns when the server has stopped.

    Raises:
        ValueError: The cluster or the task is invalid. Nothing was started.
        RuntimeError: A worker function has made this call, or functions are still running after `stop_grace`.

    Example:
        ```python
        import muster

        def train(strategy):
            print(muster.get_current_worker_context().task_id)

        muster.run_distribute_coordinator(train, cluster_spec={"worker": ["localhost:1"]})  # 0
        ```
    """
    outer = get_current_worker_context()
    if outer is not None:
        raise RuntimeError(f"cannot run distribute coordinator in a worker function {outer}")
    mode = CoordinatorMode(mode)
    strategy = Strategy() if strategy is None else strategy
    job = Job((worker_fn, strategy), (eval_fn or worker_fn, eval_strategy), cluster_of(cluster_spec),
               (task_type, task_id), copy.deepcopy(dict(session_config or {})), rpc_layer, "", servers, agent, barrier_timeout,
               stop_grace)
    complete(job, mode, os.environ if environment is None else environment)
    announce(job, mode, eval_fn is not None)
    if not job.cluster:  # the mode does not matter
        _prepared(job, job.work, (None, None))()
        if eval_fn is not None:
            _prepared(job, job.evaluation, (None, None))()
        return None
    return _run_standalone(job) if mode is CoordinatorMode.STANDALONE_CLIENT else _run_independent(job)


def _configured(strategy: Any, job: Job, task: Task, config: dict[str, Any]) -> Any:
    """Returns a configured copy of the strategy, or None if there is no strategy. Only evaluation functions can run
    without a strategy.
    """
    if strategy is None:
        return None
    own = copy_of(strategy)
    alone = not job.cluster or task[0] == "evaluator"
    configure(own, config, None if alone else copy.deepcopy(job.cluster), *((None, None) if alone else task))
    return own


def _prepared(job: Job, part: Part, task: Task, *,
              stop: Callable[[], bool] = lambda: False, barrier: Callable[[], None] | None = None,
              after: Callable[[], None] = lambda: None) -> Callable[[], Any]:
    """Returns a function that runs a part once. The part's copy of the strategy is configured before `_prepared`
    returns.
    """
    config = copy.deepcopy(job.session_config)
    f, own = part[0], _configured(part[1], job, task, config)
    context = WorkerContext(own, job.cluster, *task, session_config=config, rpc_layer=job.rpc_layer, barrier=barrier,
                            stop=stop)

    def run() -> Any:
        with context:
            result = f(own)
        after()
        return result

    return run


def _start_evaluator(job: Job, threads: Threads) -> None:
    for index in job.cluster.get("evaluator", ()):
        task = ("evaluator", index)
        threads.start(name_of(task), _prepared(job, job.evaluation, task, stop=threads.stop.is_set))


def _run_standalone(job: Job) -> Any:
    if not job.is_client:
        server = _server_of(job, _server_config(job), worker_servers())
        assert server
        return serve_until_end(server)
    return _run_between_graph(job) if job.between_graph else _run_in_graph(job)


def _run_between_graph(job: Job) -> None:
    tasks = trainers(job.cluster)
    barrier = Barrier([name_of(t) for t in tasks])
    threads = Threads(job.stop_grace, barrier.abort)
    bodies = [_prepared(job, job.work, task, stop=threads.stop.is_set,  # all are configured before the first runs
                        barrier=lambda i=i: barrier.wait(i, job.barrier_timeout),  # type: ignore[misc]
                        after=lambda i=i: barrier.leave(i))  # type: ignore[misc]
              for i, task in enumerate(tasks)]
    with threads:
        _start_evaluator(job, threads)
        for task, body in zip(tasks, bodies):
            threads.start(name_of(task), body)
        threads.wait()


def _run_in_graph(job: Job) -> Any:
    threads = Threads(job.stop_grace)
    body = _prepared(job, job.work, (None, None), stop=threads.stop.is_set)
    with threads:
        _start_evaluator(job, threads)
        result = threads.run("the function", body)
        threads.wait()
    return result


def _server_config(job: Job) -> ServerConfig:
    """Returns the configuration of the task's server. The configuration contains no device filters, because any
    strategy can use the server.
    """
    config = copy.deepcopy(job.session_config)
    kind, index = job.task[0] or "", job.task[1] or 0
    _configured((job.evaluation if kind == "evaluator" else job.work)[1], job, (kind, index), config)
    config.pop("device_filters", None)
    return ServerConfig(copy.deepcopy(job.cluster), kind, index, config, job.rpc_layer, job.environment)


def _server_of(job: Job, config: ServerConfig, otherwise: Factory | None) -> StandardServer | None:
    """Returns the server of this process, or None if there is no server. If the strategy has already started a server,
    returns this server.
    """
    running = running_server(job.work[1])
    make = job.servers or otherwise
    if running is not None or make is None:
        return running
    return server_of_this_thread(config, make)


def _run_independent(job: Job) -> Any:
    task, agent = (job.task[0], job.task[1] or 0), job.agent
    config = _server_config(job)
    job.session_config = copy.deepcopy(config.session_config)  # changes by the strategy apply to sessions as well

    def stop() -> bool:
        return agent is not None and agent.error is not None

    if task[0] == "evaluator":
        return _prepared(job, job.evaluation, task, stop=stop)()
    runs = task[0] != "ps" and (job.between_graph or is_chief(job.cluster, *task))
    barrier = _meeting(job, agent) if agent and runs and job.between_graph else None
    server = _server_of(job, config, None if runs else worker_servers())
    if not runs:
        assert server
        return serve_until_end(server)
    if not job.between_graph:
        return _prepared(job, job.work, (None, None), stop=stop)()
    return _prepared(job, job.work, task, stop=stop, barrier=barrier)()


def _meeting(job: Job, agent: Agent) -> Callable[[], None]:
    """Returns the barrier of the job. Raises ValueError if the agent belongs to another task, because the agent would
    enter the barrier in place of that task.
    """
    if agent.task != name_of(job.task) and not agent.task.startswith("task:"):  # "task:…": the name is unknown
        raise ValueError(f"agent: its task is {agent.task}, but this process is {name_of(job.task)}")
    all = [f"{kind}:{index}" for kind, index in trainers(job.cluster)]

    def meet() -> None:
        agent.barrier(MEETING, job.barrier_timeout, tasks=all)

    return meet
