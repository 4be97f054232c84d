"""Workers that run programs, and programs over REST: launches them, reads their state, and kills their ranks."""
import itertools
import json
import os
import signal
import time
import urllib.error
import urllib.request

from driver.deadline import Failure
from driver.process import Process
from driver.server import DIRECT

ENDED = ('SUCCEEDED', 'FAILED', 'CANCELLED')
LEASE_SECONDS = 4  # of a killed worker: no other worker may start its ranks for so long
_PORTS = itertools.count(20000, 100)  # trials run in parallel on one machine


def worker(binary, server, name, folder, environment, *words, network=None, lease=LEASE_SECONDS):
    """Starts `muster worker` with a host name of its own, and with ports that no other trial uses."""
    first = next(_PORTS)
    argv = [*(network.words() if network else []), binary, 'worker', '--server', server,
            '--allow-programs', '--host', name, '--program-ports', f'{first}-{first + 99}',
            '--program-dir', folder / name, '--program-lease', f'{lease}s', *words]
    return Process(name, argv, environment, folder)


class Program:
    """`http` returns the address of the server that leads."""

    def __init__(self, http, deadline, **body):
        self._http, self._deadline = http, deadline
        self.id = self._ask('', body)['id']

    def _ask(self, path, body=None):
        at = f'http://{self._http()}/api/v1/programs{path}'
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(at, data, {'Content-Type': 'application/json'})
        try:
            with DIRECT.open(request, timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise Failure(f'{at}: {error.code} {error.read().decode()}') from None

    def look(self):
        return self._ask(f'/{self.id}')

    def ranks(self):
        return self._ask(f'/{self.id}/ranks')['ranks']

    def attempts(self):
        return self._ask(f'/{self.id}/attempts')['attempts']

    def log(self, rank):
        """Returns the output of the rank in the last attempt."""
        text, offset = '', 0
        while True:
            piece = self._ask(f'/{self.id}/logs?rank={rank}&offset={offset}')
            text, offset = text + piece['data'], piece['next_offset']
            if offset >= piece['size']:
                return text

    def until(self, holds, what):
        """Waits until `holds` is true for the server's view of the program."""
        while True:
            told = self.look()
            if holds(told):
                return told
            if told['state'] in ENDED or self._deadline.passed():
                raise Failure(f'{what}: not before its end, or not in time; {self.story(told)}')
            time.sleep(0.02)

    def wait(self):
        """Waits until the program has succeeded. Returns the server's view of it."""
        told = self.until(lambda told: told['state'] in ENDED, 'its end')
        if told['state'] != 'SUCCEEDED':
            raise Failure(self.story(told))
        return told

    def running(self, attempt):
        """Waits until this attempt runs."""
        return self.until(lambda told: told['state'] == 'RUNNING' and told['attempt'] == attempt,
                          f'attempt {attempt} runs')

    def kill(self, rank):
        """Sends SIGKILL to the rank, like another user of its host would."""
        os.kill(self.ranks()[rank]['pid'], signal.SIGKILL)

    def cancel(self):
        self._ask(f'/{self.id}/cancel', {})

    def story(self, told):
        said = [json.dumps({k: v for k, v in told.items() if k != 'tasks'})]
        for rank in range(told['ranks']):
            try:
                said += [f'--- rank {rank}', *self.log(rank).splitlines()[-15:]]
            except Failure as failure:
                said.append(str(failure))
        return '\n'.join(said)
