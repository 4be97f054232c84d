"""Unmodified agents of torchrun that meet at the server, with two workers each."""
import json
import os
import pathlib
import signal
import tomllib
import urllib.request

from driver import server
from driver.deadline import check
from driver.process import Process
from driver.server import DIRECT
from driver.trial import CLIENTS
from scenarios import Scenario

PACKAGE = pathlib.Path(__file__).parents[3] / 'python'
EACH = 2  # workers of one agent


class Job:
    def __init__(self, trial, *words, nodes='2', **environment):
        self._trial, self._nodes = trial, nodes
        self._number = 0
        self.may_end = trial.folder / 'may-end'
        self._words = ('--torch', server.free_address(), *words)
        self._place = (server.free_address(), server.free_address())
        self.serve()
        self.environment = {'PYTHONPATH': f'{PACKAGE}:{self._installed()}', 'OMP_NUM_THREADS': '1',
                            'TORCHELASTIC_LOG_LEVEL': 'INFO', **environment}

    def serve(self):
        trial = self._trial
        trial.server = server.muster(trial.settings.muster, None, server.LOCAL, trial.folder, trial.environment(),
                                     trial.deadline, self._words, self._place)
        trial.processes.append(trial.server.process)

    def _installed(self):
        """Writes the metadata that pip installs with the package, so that torchrun finds its entry point."""
        project = tomllib.loads((PACKAGE / 'pyproject.toml').read_text())['project']
        info = self._trial.folder / 'installed' / 'muster-0.dist-info'
        info.mkdir(parents=True)
        (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: muster\nVersion: 0\n')
        (info / 'entry_points.txt').write_text(''.join(
            f'[{group}]\n' + ''.join(f'{name} = {value}\n' for name, value in each.items())
            for group, each in project['entry-points'].items()))
        return info.parent

    def agent(self, **environment):
        settings = self._trial.settings
        argv = [settings.python, '-m', 'torch.distributed.run', '--nnodes', self._nodes,
                '--nproc-per-node', EACH, '--max-restarts', 3, '--rdzv-backend=muster',
                f'--rdzv-endpoint={self._trial.server.http}', '--rdzv-id=job 1',
                '--rdzv-conf', 'last_call_timeout=1,keep_alive_interval=1,join_timeout=60',
                CLIENTS / 'train_torch.py', self.may_end]
        self._number += 1
        process = Process(f'agent{self._number}', argv,
                          self._trial.environment(**{**self.environment, **environment}), self._trial.folder)
        self._trial.processes.append(process)
        return process

    def train(self, agents, size):
        """Waits until the workers of these agents form a world of `size`. Returns their output by rank."""
        told = {}
        for agent in agents:
            there = 0
            while there < EACH:  # workers of an abandoned earlier round do not count
                said = agent.event('trains', self._trial.deadline)
                if said['size'] == size:
                    told[said['rank']] = {**said, 'process': agent}
                    there += 1
        check(sorted(told) == list(range(size)), f'of {size} these train: {told}')
        return told

    def store(self):
        with DIRECT.open(self._asking('/torch'), timeout=10) as answer:
            return json.load(answer)

    def keys(self):
        with DIRECT.open(self._asking('/kv?prefix=torchrun/'), timeout=10) as answer:
            return [key['key'] for key in json.load(answer)['keys']]

    def _asking(self, path):
        token = self.environment.get('MUSTER_TOKEN')
        return urllib.request.Request(
            f'http://{self._trial.server.http}/api/v1/clusters/default{path}',
            headers={'Authorization': f'Bearer {token}'} if token else {})

    def end(self, agents):
        self.may_end.touch()
        self._trial.all_succeed(agents)
        check(self.keys() == [], f'these keys are left: {self.keys()}')
        self.may_end.unlink()


def fresh(job, before):
    """Checks that the newest attempt is a new one, for which an empty key space was requested. Returns its number."""
    newest = job.store()['attempts'][0]
    check(newest['number'] > before and newest['cause'] == 'asked', f'the key space is of {newest}')
    return newest['number']


def torchrun_worker_killed(trial):
    """One of four workers is killed: all restart, in an empty key space, and succeed; another run of the same name follows. The
    agents have a worker's token, without which they are refused."""
    tokens = trial.folder / 'tokens'
    tokens.write_text('worker ' + 'w' * 40 + '\nadmin ' + 'a' * 40 + '\n')
    job = Job(trial, '--auth', 'on', '--token-file', tokens, MUSTER_TOKEN='w' * 40)
    agents = [job.agent(), job.agent()]
    told = job.train(agents, 4)
    first = fresh(job, 0)
    os.kill(told[1]['pid'], signal.SIGKILL)
    again = job.train(agents, 4)
    check(not {t['pid'] for t in told.values()} & {t['pid'] for t in again.values()}, 'some go on')
    second = fresh(job, first)
    check({r['pid'] for r in job.store()['ranks']} == {t['pid'] for t in again.values()},
          f'the ranks in the store are {job.store()["ranks"]}')
    job.end(agents)

    agents = [job.agent(), job.agent()]
    job.train(agents, 4)
    fresh(job, second)
    stranger = job.agent(MUSTER_TOKEN='x' * 40)
    check(stranger.wait(trial.deadline) == 1, f'without a token it ended with {stranger.status_text()}')
    check('RendezvousConnectionError: UNAUTHENTICATED' in stranger.said(), 'it does not say why')
    job.end(agents)


def torchrun_node_lost(trial):
    """The node of rank 0 is lost: the other node continues alone. A node that joins later is accepted."""
    job = Job(trial, nodes='1:2')
    agents = [job.agent(), job.agent()]
    told = job.train(agents, 4)
    first = fresh(job, 0)
    lost = told[0]['process']
    lost.send(signal.SIGKILL)
    for worker in told.values():
        if worker['process'] is lost:
            os.kill(worker['pid'], signal.SIGKILL)
    lost.wait(trial.deadline)
    left = [agent for agent in agents if agent is not lost]
    check({t['restart'] for t in job.train(left, 2).values()} == {1}, 'it was not for a failed worker')
    second = fresh(job, first)

    both = [*left, job.agent()]
    told = job.train(both, 4)
    check(told[0]['process'] is left[0], 'who was there has not kept its rank')
    check(told[0]['restart'] == 1, 'it costs a restart that one comes late')
    fresh(job, second)
    job.end(both)


def torchrun_agent_killed(trial):
    """Only an agent is killed, and its workers continue: the other agent starts a new round without it, which does not count as a
    restart, and does not wait for it in the end."""
    job = Job(trial, nodes='1:2')
    agents = [job.agent(), job.agent()]
    told = job.train(agents, 4)
    lost, left = told[0]['process'], told[3]['process']
    lost.send(signal.SIGKILL)
    check({t['restart'] for t in job.train([left], 2).values()} == {0}, 'it was for a failed worker')
    job.end([left])
    lost.wait(trial.deadline)


def torchrun_server_lost(trial):
    """The server is killed with all its data, and a new one starts: workers do not notice. If a worker is killed then, all restart as
    usual."""
    job = Job(trial)
    agents = [job.agent(), job.agent()]
    told = job.train(agents, 4)
    trial.kill(trial.server.process)
    job.serve()
    os.kill(told[3]['pid'], signal.SIGKILL)
    again = job.train(agents, 4)
    check(not {t['pid'] for t in told.values()} & {t['pid'] for t in again.values()}, 'some go on')
    keys = job.keys()
    check(any(key.endswith('/rounds/000000001') for key in keys), f'the keys are {keys}')
    job.end(agents)


SCENARIOS = [Scenario(torchrun_worker_killed, seconds=180, reference=False),
             Scenario(torchrun_node_lost, seconds=180, reference=False),
             Scenario(torchrun_agent_killed, seconds=120, reference=False),
             Scenario(torchrun_server_lost, seconds=180, reference=False)]
