"""TensorFlow workers with the server as their service leader."""
import signal
import time

from driver.deadline import check
from driver.server import free_address
from scenarios import Scenario
from scenarios.jax_work import same_for_all

WORKERS = 2


def start_workers(trial, program, *words, run=''):
    addresses = ','.join(free_address() for _ in range(WORKERS))
    return [trial.start(program, i, '--workers', addresses, *words, run=run)
            for i in range(WORKERS)]


def workers(trial):
    """The workers see each other's devices, exchange key-values and leave in order."""
    trial.serve(tasks=WORKERS, heartbeat_timeout=20)
    processes = start_workers(trial, 'tensorflow_worker.py')
    devices = [f'/job:worker/replica:0/task:{i}/device:CPU:0' for i in range(WORKERS)]
    same_for_all(trial, processes, 'devices', devices)
    same_for_all(trial, processes, 'states', ['None'] * WORKERS)  # no error
    same_for_all(trial, processes, 'finished', True)
    trial.all_succeed(processes)


def strategy(trial):
    """Unmodified MultiWorkerMirroredStrategy: a sum over the workers, and a variable with the first worker's value. Such a program
    ends without leaving the service, and can be started again."""
    trial.serve(tasks=WORKERS, heartbeat_timeout=20)
    for run in ('first', 'second'):
        processes = start_workers(trial, 'tensorflow_strategy.py', run=run)
        same_for_all(trial, processes, 'replicas', WORKERS)
        same_for_all(trial, processes, 'sum', [3.0, 20.0])
        same_for_all(trial, processes, 'variable', 100.0)
        trial.all_succeed(processes)


def server_killed(trial):
    """The server is killed and restarted during a computation; the workers meet again and leave in order."""
    trial.serve_supervised(tasks=WORKERS, heartbeat_timeout=12)
    processes = start_workers(trial, 'tensorflow_live_on.py', '--rounds', 1)
    same_for_all(trial, processes, 'met', 0)
    trial.server.kill_supervised(2)
    time.sleep(8)  # each worker has sent a heartbeat
    for process in processes:
        check(process.running(), f'{process.name} ended: {process.status_text()}')
        process.send(signal.SIGUSR1)
    same_for_all(trial, processes, 'met', 1)
    same_for_all(trial, processes, 'finished', True)
    trial.all_succeed(processes)


SCENARIOS = [
    Scenario(workers, seconds=120, reference=False),
    Scenario(strategy, seconds=120, reference=False),
    Scenario(server_killed, seconds=120, reference=False),
]
