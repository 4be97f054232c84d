"""One run of one scenario: a server, its clients, a folder for their output, and one time limit."""
import contextlib
import dataclasses
import os
import pathlib
import signal

from driver import helpers, programs, server
from driver.deadline import Deadline, Failure, check
from driver.network import Network
from driver.process import Process

STACKS_SECONDS = 5
CLIENTS = pathlib.Path(__file__).parent.parent / 'clients'


@dataclasses.dataclass
class Cluster:
    """The settings of `muster serve --cluster`."""
    tasks: int
    job: str = 'worker'
    heartbeat_timeout: int = 100  # the default of JAX
    recoverable: bool = False
    error_delivery: str = 'auto'

    def words(self):
        words = f'interop:{self.job}={self.tasks};heartbeat_timeout={self.heartbeat_timeout}s'
        words += f';error_delivery={self.error_delivery}'
        return words + (';recoverable=true' if self.recoverable else '')


@dataclasses.dataclass
class Settings:
    python: pathlib.Path  # in the virtual environment
    version: tuple        # of the library
    muster: pathlib.Path  # the binary, or None for jaxlib's own service


class Trial:
    def __init__(self, settings, folder, seconds):
        self.settings, self.folder = settings, folder
        self.version = settings.version
        self.deadline = Deadline(seconds)
        self.processes = []
        self.clients = []  # the processes that run client programs
        self.server = self.network = self.proxy_address = None

    def second_network(self):
        """Creates the second network, at most one for each trial. Raises CannotRun if that is impossible."""
        self.network = Network()
        return self.network

    def serve_supervised(self, **cluster):
        """Starts a server with a data directory, supervised by a parent process that holds its sockets."""
        self.cluster = Cluster(**cluster)
        self.server = server.muster(
            self.settings.muster, self.cluster, server.LOCAL, self.folder, self.environment(),
            self.deadline, ('--supervise', '--data-dir', self.folder / 'data'))
        self.processes.append(self.server.process)

    def serve_behind_proxy(self, **cluster):
        """Starts the first of two servers with one data directory. Clients connect to a proxy in front of both."""
        self.cluster = Cluster(error_delivery='heartbeat', **cluster)
        self.places = [(server.free_address(), server.free_address()) for _ in range(2)]
        self.serve_at(0)
        self._put_before(helpers.proxy, self.settings.muster)

    def serve_with_standby(self, before, **cluster):
        """Starts two servers with one store in etcd, of which the first leads. Clients connect to the proxy in front of both, `before`:
        'muster proxy' or 'haproxy'. Without a cluster, none is declared."""
        self.cluster = Cluster(**cluster) if cluster else None
        etcd, store = helpers.etcd(self.folder, self.environment(), self.deadline)
        self.processes.append(etcd)
        self.places = [(server.free_address(), server.free_address()) for _ in range(2)]
        (leader, ready), (standby, self.standby_ready) = [
            self._serve_on(store, number) for number in range(2)]
        self.server = server.Server(leader, ready, self.deadline)
        server.await_standby(standby, self.places[1][1], self.deadline)
        self.standby = standby
        if before == 'muster proxy':
            self._put_before(helpers.proxy, self.settings.muster)
        else:
            self._put_before(helpers.haproxy)

    def _serve_on(self, store, number):
        started = server.muster_process(
            self.settings.muster, self.cluster, server.LOCAL, self.folder, self.environment(),
            ('--store', store), self.places[number], f'server{number}')
        self.processes.append(started[0])
        if number == 0:  # the first server leads before the second one tries
            server.Server(*started, self.deadline)
        return started

    def _put_before(self, make, *words):
        process, self.proxy_address = make(*words, self.places, self.folder, self.environment(),
                                           self.deadline)
        self.processes.append(process)

    def kill_leader(self):
        """Sends SIGKILL. Returns when the standby serves."""
        self.kill(self.server.process)
        self.server = server.Server(self.standby, self.standby_ready, self.deadline)

    def serve_at(self, place):
        self.server = server.muster(
            self.settings.muster, self.cluster, server.LOCAL, self.folder, self.environment(),
            self.deadline, ('--data-dir', self.folder / 'data'), self.places[place])
        self.processes.append(self.server.process)

    def serve(self, host=server.LOCAL, **cluster):
        self.cluster = Cluster(**cluster)
        make, program = ((server.muster, self.settings.muster) if self.settings.muster
                         else (server.reference, self.settings.python))
        self.server = make(program, self.cluster, host, self.folder, self.environment(),
                           self.deadline)
        self.processes.append(self.server.process)

    def serve_programs(self, host=server.LOCAL):
        self.server = server.muster(self.settings.muster, None, host, self.folder,
                                    self.environment(), self.deadline)
        self.processes.append(self.server.process)

    def add_worker(self, name, *words, **more):
        """Adds a worker that runs programs, and has one slot for closures."""
        process = programs.worker(self.settings.muster, self.proxy_address or self.server.address,
                                  name, self.folder,
                                  self.environment(), '--slots', 1, *words, **more)
        self.processes.append(process)
        self.server.await_host(name, self.deadline)
        return process

    def launch(self, client, ranks, *words, **body):
        """Launches a client program with a number of ranks, or with tasks by type. `body`: further fields of the program."""
        command = [self.settings.python, '-u', CLIENTS / client, *words]
        return programs.Program(lambda: self.server.http, self.deadline,
                                tasks=ranks if isinstance(ranks, dict) else {'worker': ranks},
                                command=[str(word) for word in command], **body)

    def start(self, program, index, *words, run='', address=None, network=None):
        """Starts a client program as task `index`; `run` distinguishes the runs of one job. `address` replaces the server's address, for a
        further cluster. With `network` the program runs on its far side. With the default time-out the program gets no option, so the
        library's own default applies."""
        environment = self.environment(SERVER=address or self.server.address,
                                       PYTHONFAULTHANDLER='1')
        argv = [*(network.words() if network else []), self.settings.python, '-u',
                CLIENTS / program, '--index', index, '--tasks', self.cluster.tasks, *words]
        if self.cluster.heartbeat_timeout != Cluster.heartbeat_timeout:
            argv += ['--heartbeat-timeout', self.cluster.heartbeat_timeout]
        process = Process(f'{run}_task{index}'.lstrip('_'), argv, environment, self.folder)
        self.processes.append(process)
        self.clients.append(process)
        return process

    def dump_stacks(self):
        """Ends the client programs that still run. Each prints the stacks of its threads."""
        running = [process for process in self.clients if process.running()]
        for process in running:
            process.send(signal.SIGABRT)
        for process in running:
            with contextlib.suppress(Failure):
                process.wait(Deadline(STACKS_SECONDS))

    def environment(self, **more):
        """Returns the environment without the caller's variables that could affect a client: proxies, device choices, Slurm."""
        kept = {name: os.environ[name] for name in ('PATH', 'HOME', 'TMPDIR', 'LANG')
                if name in os.environ}
        return kept | more

    def all_succeed(self, processes):
        for process in processes:
            status = process.wait(self.deadline)
            check(status == 0, f'{process.name} ended with {process.status_text()}')

    def kill(self, *processes):
        for process in processes:
            process.send(signal.SIGKILL)
        for process in processes:
            process.wait(self.deadline)

    def close(self):
        """Ends all processes of the trial."""
        for process in reversed(self.processes):
            process.kill()
        if self.network:
            self.network.close()
