"""JAX processes without failures: collectives, key-values, barriers, live nodes."""
import re

from driver.deadline import check
from scenarios import Scenario

TASKS = 4


def start_all(trial, program, *words, **named):
    return [trial.start(program, i, *words, **named) for i in range(TASKS)]


def same_for_all(trial, processes, kind, expected):
    for process in processes:
        got = process.event(kind, trial.deadline)
        check(got == expected, f'{process.name}: {kind} is {got}, not {expected}')


def names_task(message, index):
    """Returns whether a message names this task. Muster writes "/job:worker/task:3"; jaxlib's own service writes "task 3", "task:3"
    or, in a list, a line that only contains "3"."""
    spelling = rf'\btask\W{{0,2}}{index}\b|^{index}$'
    return re.search(spelling, message, re.IGNORECASE | re.MULTILINE) is not None


def collectives(trial):
    trial.serve(tasks=TASKS)
    processes = start_all(trial, 'collectives.py')
    same_for_all(trial, processes, 'gathered', [[i, 10 * i] for i in range(TASKS)])
    same_for_all(trial, processes, 'psum', [sum(i + 0.5 for i in range(TASKS)), float(TASKS)])
    same_for_all(trial, processes, 'broadcast', 100)
    trial.all_succeed(processes)


def key_values(trial):
    trial.serve(tasks=TASKS)
    processes = start_all(trial, 'key_values.py')
    if trial.version >= (0, 7, 2):
        same_for_all(trial, processes, 'counter', 10)
    same_for_all(trial, processes, 'finished', True)
    trial.all_succeed(processes)


def barriers(trial):
    trial.serve(tasks=TASKS)
    processes = start_all(trial, 'barriers.py')
    for process in processes:
        message = process.event('timed_out', trial.deadline)
        check(names_task(message, 0), f'{process.name}: the missing task 0 is not in: {message}')
    same_for_all(trial, processes, 'finished', True)
    trial.all_succeed(processes)


def live_nodes(trial):
    trial.serve(tasks=TASKS, heartbeat_timeout=6, recoverable=True)
    processes = start_all(trial, 'live_nodes.py')
    same_for_all(trial, processes, 'live', list(range(TASKS)))
    for i, process in enumerate(processes):
        same_for_all(trial, [process], 'half', [j for j in range(TASKS) if j % 2 == i % 2])
        process.event('ready', trial.deadline)
    *left, victim = processes
    trial.kill(victim)
    same_for_all(trial, left, 'left', list(range(TASKS - 1)))
    trial.all_succeed(left)


def two_clusters(trial):
    """Two jobs at once on one server use the same keys and barriers without affecting each other."""
    trial.serve(tasks=TASKS)
    other = trial.server.declare(name='other', jobs={'worker': TASKS})
    check(other != trial.server.address, f'both clusters are at {other}')
    processes = start_all(trial, 'register.py', run='one')
    processes += start_all(trial, 'register.py', run='other', address=other)
    same_for_all(trial, processes, 'registered', True)
    trial.all_succeed(processes)


SCENARIOS = [
    Scenario(collectives),
    Scenario(key_values),
    Scenario(barriers),
    Scenario(live_nodes, since=(0, 7, 2)),
    Scenario(two_clusters, reference=False),
]
