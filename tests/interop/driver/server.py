"""The server under test: `muster serve`, or jaxlib's own service in a process of its own."""
import json
import os
import pathlib
import signal
import socket
import time
import urllib.error
import urllib.request

from driver.deadline import Deadline, Failure, check
from driver.process import Process

REFERENCE_SERVICE = pathlib.Path(__file__).with_name('reference_service.py')
STOP_SECONDS = 20
LOCAL = '127.0.0.1'
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never through a proxy


class Server:
    def __init__(self, process, ready_file, deadline):
        self.process = process
        self._await(ready_file, deadline)
        told = json.loads(ready_file.read_text())
        self.address, self.http = told['grpc'], told.get('http')

    def _await(self, ready_file, deadline):
        while not ready_file.exists():  # the file is complete, because it was renamed
            check(self.process.running(), f'the server ended: {self.process.status_text()}')
            if deadline.passed():
                raise Failure('the server was not ready in time')
            time.sleep(0.01)

    def declare(self, **cluster):
        """Declares a further cluster. Returns the address of its coordination service."""
        request = urllib.request.Request(
            f'http://{self.http}/api/v1/clusters', json.dumps(cluster).encode(),
            {'Content-Type': 'application/json'})
        with DIRECT.open(request, timeout=10) as response:
            return json.load(response)['address']

    def await_polls(self, cluster, count, deadline):
        """Waits until `count` agents poll for errors: only then does the server attribute a closed connection to them. jaxlib's
        service does not report this."""
        self._await_calls(cluster, 'polls', count, deadline)

    def await_waits(self, cluster, count, deadline):
        """Waits until `count` tasks wait for keys."""
        self._await_calls(cluster, 'key_waits', count, deadline)

    def _await_calls(self, cluster, kind, count, deadline):
        if self.http:
            self._until(f'/api/v1/clusters/{cluster}', deadline, f'{count} agents have {kind}',
                        lambda told: told['generation']['parked_calls'][kind] >= count)

    def await_host(self, host, deadline):
        """Waits until a worker of this host is connected."""
        self._until('/api/v1/clusters/default/tasks?limit=1000', deadline, f'{host} is connected',
                    lambda told: any(t['state'] == 'CONNECTED' and t['host'] == host
                                     for t in told['tasks']))

    def await_event(self, kind, deadline):
        """Returns the first known event of this kind."""
        told = self._until('/api/v1/events?limit=1000', deadline, f'there is an event {kind}',
                           lambda told: any(e['kind'] == kind for e in told['events']))
        return next(e for e in told['events'] if e['kind'] == kind)

    def await_alert(self, rule, there, deadline):
        self._until('/api/v1/attention', deadline, f'{rule} is {"" if there else "not "}there',
                    lambda told: any(i['rule'] == rule for i in told['items']) == there)

    def _until(self, path, deadline, what, holds):
        while True:
            with DIRECT.open(f'http://{self.http}{path}', timeout=10) as response:
                told = json.load(response)
            if holds(told):
                return told
            if deadline.passed():
                raise Failure(f'not in time: {what}; {path} says {told}')
            time.sleep(0.02)

    def kill_supervised(self, away_seconds):
        """Sends SIGKILL to the server itself. The parent process, which holds its sockets, restarts it after the given time; until then
        connecting clients wait."""
        parent = self.process.pid
        children = pathlib.Path(f'/proc/{parent}/task/{parent}/children')
        server = int(children.read_text())
        self.process.send(signal.SIGSTOP)
        os.kill(server, signal.SIGKILL)
        time.sleep(away_seconds)
        self.process.send(signal.SIGCONT)
        return server

    def stop(self):
        """Stops the server in order. The server must still run before the stop, whatever the clients did."""
        check(self.process.running(), f'the server ended by itself: {self.process.status_text()}')
        self.process.send(signal.SIGTERM)
        status = self.process.wait(Deadline(STOP_SECONDS))
        check(status == 0, f'the server stopped with {self.process.status_text()}')


def muster(binary, cluster, host, folder, environment, deadline, more=(), at=None):
    """Starts the server on ports that the system chooses, or on a pair of addresses, `at`."""
    return Server(*muster_process(binary, cluster, host, folder, environment, more, at), deadline)


def muster_process(binary, cluster, host, folder, environment, more=(), at=None, name='server'):
    """Returns the process, and the file that exists once it serves."""
    ready = folder / f'{name}.ready.json'
    ready.unlink(missing_ok=True)
    grpc, http = at or (f'{host}:0', f'{LOCAL}:0')
    argv = [binary, 'serve', '--grpc', grpc, '--http', http,
            '--ready-file', ready, *(['--cluster', cluster.words()] if cluster else []), *more]
    if host != LOCAL:
        argv.append('--insecure')
    return Process(name, argv, environment, folder), ready


def await_standby(process, http, deadline):
    """Waits until the process reports that another server leads."""
    while True:
        check(process.running(), f'{process.name} ended: {process.status_text()}')
        try:
            with DIRECT.open(f'http://{http}/readyz', timeout=10):
                raise Failure(f'{process.name} serves and does not stand by')
        except urllib.error.HTTPError as refused:
            if 'leader' in json.load(refused):
                return
        except OSError:
            pass  # the server does not listen yet
        if deadline.passed():
            raise Failure(f'{process.name} did not stand by in time')
        time.sleep(0.02)


def reference(python, cluster, host, folder, environment, deadline):
    ready = folder / 'ready.json'
    argv = [python, REFERENCE_SERVICE, '--address', free_address(host), '--ready-file', ready,
            '--tasks', cluster.tasks, '--heartbeat-timeout', cluster.heartbeat_timeout]
    if cluster.recoverable:
        argv.append('--recoverable')
    return Server(Process('server', argv, environment, folder), ready, deadline)


def free_address(host=LOCAL):
    """Returns an address for programs that cannot choose a port themselves and report it."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return '%s:%d' % probe.getsockname()
