"""TensorFlow's distribute coordinator, which runs a function in every task of a cluster. See
`run_distribute_coordinator`.
"""
from muster.distribute.context import WorkerContext, get_current_worker_context
from muster.distribute.coordinator import run_distribute_coordinator
from muster.distribute.inputs import CoordinatorMode
from muster.distribute.servers import ServerConfig, StandardServer, end_standard_server_of_this_thread, run_standard_server, worker_servers
from muster.distribute.sessions import Scaffold, SessionCreator, WorkerSession
from muster.distribute.strategy import Strategy
from muster.distribute.threads import EndOfData

__all__ = ["CoordinatorMode", "EndOfData", "Scaffold", "ServerConfig", "SessionCreator", "StandardServer", "Strategy",
           "WorkerContext", "WorkerSession", "end_standard_server_of_this_thread", "get_current_worker_context",
           "run_distribute_coordinator", "run_standard_server", "worker_servers"]
