"""One run of one scenario: a server, its clients, a folder for what they say, one time limit."""
import dataclasses
import os
import pathlib
import signal

from driver import server
from driver.deadline import Deadline, check
from driver.network import Network
from driver.process import Process

CLIENTS = pathlib.Path(__file__).parent.parent / 'clients'


@dataclasses.dataclass
class Cluster:
    """As `muster serve --cluster` declares it."""
    tasks: int
    job: str = 'worker'
    heartbeat_timeout: int = 100  # as in JAX
    recoverable: bool = False
    error_delivery: str = 'auto'

    def words(self):
        words = f'interop:{self.job}={self.tasks};heartbeat_timeout={self.heartbeat_timeout}s'
        words += f';error_delivery={self.error_delivery}'
        return words + (';recoverable=true' if self.recoverable else '')


@dataclasses.dataclass
class Settings:
    python: pathlib.Path  # of the virtual environment
    version: tuple        # of jax or tensorflow
    muster: pathlib.Path  # the binary; None: jaxlib's own service


class Trial:
    def __init__(self, settings, folder, seconds):
        self.settings, self.folder = settings, folder
        self.version = settings.version
        self.deadline = Deadline(seconds)
        self.processes = []
        self.server = self.network = None

    def second_network(self):
        """At most one a trial. Raises CannotRun where there can be none."""
        self.network = Network()
        return self.network

    def serve_supervised(self, **cluster):
        """With a data directory, by a parent that holds its sockets."""
        self.cluster = Cluster(**cluster)
        self.server = server.muster(
            self.settings.muster, self.cluster, server.LOCAL, self.folder, self._environment(),
            self.deadline, ('--supervise', '--data-dir', self.folder / 'data'))
        self.processes.append(self.server.process)

    def serve_behind_proxy(self, **cluster):
        """The first of two servers with one data directory; clients dial a proxy in front of both."""
        self.cluster = Cluster(error_delivery='heartbeat', **cluster)
        self.places = [(server.free_address(), server.free_address()) for _ in range(2)]
        self.serve_at(0)
        process, self.proxy_address = server.proxy(self.settings.muster, self.places, self.folder,
                                                   self._environment(), self.deadline)
        self.processes.append(process)

    def serve_at(self, place):
        self.server = server.muster(
            self.settings.muster, self.cluster, server.LOCAL, self.folder, self._environment(),
            self.deadline, ('--data-dir', self.folder / 'data'), self.places[place])
        self.processes.append(self.server.process)

    def serve(self, host=server.LOCAL, **cluster):
        self.cluster = Cluster(**cluster)
        make, program = ((server.muster, self.settings.muster) if self.settings.muster
                         else (server.reference, self.settings.python))
        self.server = make(program, self.cluster, host, self.folder, self._environment(),
                           self.deadline)
        self.processes.append(self.server.process)

    def start(self, program, index, *words, run='', address=None, network=None):
        """A client program as task `index`; `run` tells runs of one job apart. Another `address`
        than the server's: that of a further cluster. On the far side of a `network`, if given.
        With the default time-out the program is told none: the library's own default counts."""
        environment = self._environment(SERVER=address or self.server.address)
        argv = [*(network.words() if network else []), self.settings.python, '-u',
                CLIENTS / program, '--index', index, '--tasks', self.cluster.tasks, *words]
        if self.cluster.heartbeat_timeout != Cluster.heartbeat_timeout:
            argv += ['--heartbeat-timeout', self.cluster.heartbeat_timeout]
        process = Process(f'{run}_task{index}'.lstrip('_'), argv, environment, self.folder)
        self.processes.append(process)
        return process

    def _environment(self, **more):
        """Nothing of the caller's that could steer a client: proxies, device choices, Slurm."""
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
        """Nothing outlives a trial."""
        for process in reversed(self.processes):
            process.kill()
        if self.network:
            self.network.close()
