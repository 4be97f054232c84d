"""Unmodified programs as ranks on the workers of a cluster."""
import json
import os
import pathlib
import re
import time

from driver.deadline import Failure, check
from scenarios import Scenario

RANKS = 4
KINDS = ('sleep', 'lock_held_in_c', 'fifo', 'stopped')  # kinds of hangs, as in clients/hanging.py
HELD = 59  # the number of steps after which a program waits until it is allowed to end


def saved(folder):
    """Returns the step of the checkpoint, or 0 without a checkpoint."""
    try:
        return json.loads((folder / 'checkpoint').read_text())['step']
    except FileNotFoundError:
        return 0


def await_steps(trial, folder, steps):
    while saved(folder) < min(steps, HELD):
        if trial.deadline.passed():
            raise Failure(f'{folder.name} has no checkpoint after {steps} steps in time')
        time.sleep(0.02)


def train(trial, name, may_end, **more):
    folder = trial.folder / name
    folder.mkdir()
    return folder, trial.launch('training_jax.py', RANKS, folder, may_end, name=name,
                                env={'JAX_PLATFORMS': 'cpu'}, **more)


def end_of(program):
    """Checks that all ranks ended alike. Returns the step at which they began, and their parameters in the end."""
    told = [re.search(r'began at (\d+) ended with (\w+)', program.log(rank)) for rank in range(RANKS)]
    check(all(told) and len({(t[1], t[2]) for t in told}) == 1, f'ranks ended unlike: {told}')
    return int(told[0][1]), told[0][2]


def program_killed_twice(trial):
    """Four processes on two workers save checkpoints; a rank is killed, then a worker with its ranks. They end with the parameters
    of an undisturbed run."""
    trial.serve_programs()
    workers = [trial.add_worker('host0'), trial.add_worker('host1')]
    may_end = trial.folder / 'may-end'
    folder, disturbed = train(trial, 'disturbed', may_end, max_restarts=1, restart_grace='1s')
    await_steps(trial, folder, 5)
    check({r['host'] for r in disturbed.ranks()} == {'host0', 'host1'}, 'ranks are on one worker')
    disturbed.kill(2)
    disturbed.running(2)
    seen = saved(folder)
    await_steps(trial, folder, seen + 3)
    trial.kill(workers[1])
    disturbed.running(3)
    check({r['host'] for r in disturbed.ranks()} == {'host0'}, 'ranks are on a worker that is dead')
    seen = saved(folder)
    await_steps(trial, folder, seen + 3)
    may_end.touch()
    told = disturbed.wait()
    check((told['attempt'], told['restarts']) == (3, 1), f'it ended {told}')
    first, second, _ = disturbed.attempts()
    check(first['cause']['rank'] == 2 and first['cause']['signal'] == 9, f'the cause is {first}')
    check(second['end'] == 'LOST', f'the second attempt ended {second}')

    _, undisturbed = train(trial, 'undisturbed', may_end)
    undisturbed.wait()
    began, parameters = end_of(disturbed)
    check(began >= seen >= 8, f'the last attempt began at step {began}, not from its checkpoint')
    check(end_of(undisturbed) == (0, parameters), 'a run that nobody disturbed has other parameters')


def program_cut_off(trial):
    """The only worker loses its network: it kills its ranks before the next attempt starts on another worker. When the network works
    again the worker has no ranks, and the checkpoint was never written twice."""
    network = trial.second_network()
    trial.serve_programs(network.address)
    trial.add_worker('far', network=network)
    may_end = trial.folder / 'may-end'
    folder, program = train(trial, 'program', may_end)
    await_steps(trial, folder, 5)
    trial.add_worker('near')
    # Not earlier: on a busy machine a worker may be silent for longer than its lease, which would cost additional attempts.
    first = program.look()['attempt']
    ranks = program.ranks()
    check({r['host'] for r in ranks} == {'far'}, f'ranks run at {ranks} before the network is cut')
    network.unplug()
    program.until(lambda told: told['attempt'] > first, 'the next attempt begins')
    alive = [r['pid'] for r in ranks if pathlib.Path(f'/proc/{r["pid"]}').exists()]
    check(not alive, f'attempt {first + 1} begins while ranks of the one before live: {alive}')
    seen = saved(folder)
    network.plug_in()
    trial.server.await_host('far', trial.deadline)
    await_steps(trial, folder, seen + 3)
    may_end.touch()
    told = program.wait()
    check((told['attempt'], told['restarts']) == (first + 1, 0), f'it ended {told}')
    check({r['host'] for r in program.ranks()} == {'near'}, f'ranks ran at {program.ranks()}')
    began, _ = end_of(program)
    check(began == seen, f'the last attempt began at step {began}, not at {seen}')


def program_fails_over(trial):
    """The leader is killed, and the standby takes over from etcd: the program continues in the same attempt. Then a rank is killed,
    which costs one attempt, and the result is that of an undisturbed run."""
    trial.serve_with_standby('muster proxy')
    for host in ('host0', 'host1'):
        trial.add_worker(host, lease=60)  # the standby leads after some seconds
    may_end = trial.folder / 'may-end'
    folder, program = train(trial, 'disturbed', may_end, max_restarts=1, restart_grace='1s')
    await_steps(trial, folder, 5)
    pids = [r['pid'] for r in program.ranks()]
    trial.kill_leader()
    for host in ('host0', 'host1'):
        trial.server.await_host(host, trial.deadline)
    seen = saved(folder)
    await_steps(trial, folder, seen + 10)
    told = program.running(1)
    check([r['pid'] for r in program.ranks()] == pids, f'ranks are other processes: {told}')
    program.kill(2)
    program.running(2)
    seen = saved(folder)
    await_steps(trial, folder, seen + 3)
    may_end.touch()
    told = program.wait()
    check((told['attempt'], told['restarts']) == (2, 1), f'it ended {told}')
    began, parameters = end_of(program)
    check(began >= seen >= 15, f'the last attempt began at step {began}, not from its checkpoint')

    _, undisturbed = train(trial, 'undisturbed', may_end)
    undisturbed.wait()
    check(end_of(undisturbed) == (0, parameters), 'a run that nobody disturbed has other parameters')


def named_in_each_attempt(trial, client, ranks):
    """One of the processes hangs, in another way in each attempt, and the others wait for it in a collective. Some seconds later the
    server names the process with its line, and restarts the program. No process is named during startup and compilation, or in
    the last attempt, which does not hang."""
    trial.serve_programs()
    for host in ('host0', 'host1'):
        trial.add_worker(host)
    folder = trial.folder / 'hangs'
    folder.mkdir()
    os.mkfifo(folder / 'data')
    after = 3
    program = trial.launch(client, ranks, folder, name='hangs', hang_after=f'{after}s',
                           on_hang='restart', max_restarts=len(KINDS), restart_grace='1s',
                           env={'JAX_PLATFORMS': 'cpu'})
    for number, kind in enumerate(KINDS, 1):
        program.until(lambda _: (folder / f'waits-{number}').exists(), f'a rank hangs, {kind}')
        since = time.monotonic()
        program.until(lambda told: told['attempt'] > number or told['state'] == 'RESTARTING',
                      f'{kind} is found')
        took = time.monotonic() - since
        check(took < 4 * after + 5, f'{kind} was found after {took:.1f} s')
    told = program.wait()
    check(told['restarts'] == len(KINDS), f'it ended {told}')
    for attempt, kind in zip(program.attempts(), KINDS):
        hang = (attempt.get('cause') or {}).get('hang') or {}
        check(attempt['end'] == 'HUNG' and hang.get('rank') == 2, f'{kind} ended {attempt}')
        evidence, line = ('STOPPED', '') if kind == 'stopped' else ('STACK', 'in next_batch')
        check((hang['evidence'], hang.get('line', '').endswith(line)) == (evidence, True), f'{kind}: {hang}')


def program_hangs(trial):
    """Four processes of JAX."""
    named_in_each_attempt(trial, 'hang_jax.py', RANKS)


def program_hangs_in_tensorflow(trial):
    """Three processes of MultiWorkerMirroredStrategy."""
    named_in_each_attempt(trial, 'hang_tensorflow.py', 3)


def program_strategy(trial):
    """MultiWorkerMirroredStrategy on two workers. It needs no service, so no cluster is declared."""
    trial.serve_programs()
    for host in ('host0', 'host1'):
        trial.add_worker(host)
    program = trial.launch('strategy_of_program.py', 2)
    program.wait()
    check({r['host'] for r in program.ranks()} == {'host0', 'host1'}, 'ranks are on one worker')
    for rank in range(2):
        said = program.log(rank)
        check('of 2 sum [3.0, 20.0] variable 100.0' in said, f'rank {rank} said {said[-2000:]}')


def program_parameter_servers(trial):
    """ParameterServerStrategy with a chief, two parameter servers and two workers. A worker is killed during startup or training: all
    tasks restart, and the program ends with the chief."""
    trial.serve_programs()
    for host in ('host0', 'host1'):
        trial.add_worker(host)
    tasks = {'chief': 1, 'ps': 2, 'worker': 2}
    program = trial.launch('parameter_servers_of_program.py', tasks, max_restarts=1,
                           restart_grace='1s', ends_with=['chief'])
    program.running(1)
    numbered = {r['task']: r['rank'] for r in program.ranks()}
    program.kill(numbered['worker:1'])
    told = program.wait()
    check((told['attempt'], told['restarts']) == (2, 1), f'it ended {told}')
    check({r['host'] for r in program.ranks()} == {'host0', 'host1'}, 'ranks are on one worker')
    said = program.log(numbered['chief:0'])
    check("shards ['/job:ps/task:0', '/job:ps/task:1'] steps 100 total [100.0, 100.0, 100.0, 100.0]"
          ' fetched 100.0' in said, f'the chief said {said[-2000:]}')


SCENARIOS_JAX = [Scenario(program_killed_twice, seconds=150, reference=False),
                 Scenario(program_cut_off, seconds=150, reference=False),
                 Scenario(program_fails_over, seconds=150, reference=False),
                 Scenario(program_hangs, seconds=200, reference=False)]
SCENARIOS_TENSORFLOW = [Scenario(program_strategy, seconds=120, reference=False),
                        Scenario(program_hangs_in_tensorflow, seconds=250, reference=False),
                        Scenario(program_parameter_servers, seconds=150, reference=False)]
