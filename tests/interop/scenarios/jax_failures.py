"""JAX processes that fail: killed, cut off, never started, and the same job started again."""
import signal
import time

from driver.deadline import check
from scenarios import Scenario
from scenarios.jax_work import TASKS, names_task, same_for_all, start_all

HEARTBEAT_TIMEOUT = 6
INITIALIZATION_TIMEOUT = 8
CLIENT_GRACE = 5  # the client adds it to the given time
CUT = 2


def killed(trial):
    """One process is killed. All others are ended by an error that names it."""
    trial.serve(tasks=TASKS, heartbeat_timeout=HEARTBEAT_TIMEOUT)
    # Silence is noticed after the time-out; the client itself waits one or five seconds longer.
    kill_one(trial, victim_index=2, limit=HEARTBEAT_TIMEOUT + 15)


def killed_by_default(trial):
    """With JAX's default time-out of 100 s the others get the error within seconds, because the connection was closed."""
    trial.serve(tasks=TASKS)
    # The error arrives after three seconds; the client itself waits one or five seconds longer.
    kill_one(trial, victim_index=1, limit=12)


def kill_one(trial, victim_index, limit):
    processes = [trial.start('wait_for_error.py', i, *(['--stay'] if i == victim_index else []))
                 for i in range(TASKS)]
    for process in processes:
        process.event('ready', trial.deadline)
    trial.server.await_polls('interop', TASKS, trial.deadline)
    victim = processes.pop(victim_index)
    began = time.monotonic()
    trial.kill(victim)
    for process in processes:
        status = process.wait(trial.deadline)
        check(status != 0, f'{process.name} ended as if nothing had happened')
        check(names_task(process.said(), victim_index),
              f'{process.name}: its last words do not name task {victim_index}')
    took = time.monotonic() - began
    check(took < limit, f'the others ended after {took:.1f} s, not within {limit} s')


def server_killed_twice(trial):
    """The server is killed and restarted, the second time with a longer pause: each process' heartbeat is sent during the pause and
    waits. No process gets an error; all meet, and end in order."""
    timeout = 2 * HEARTBEAT_TIMEOUT
    beat = timeout / 2  # the interval, and the longest duration of a heartbeat
    trial.serve_supervised(tasks=TASKS, heartbeat_timeout=timeout)
    processes = start_all(trial, 'live_on.py', '--rounds', 2)
    same_for_all(trial, processes, 'met', 0)
    began = time.monotonic()  # approximate time of the first heartbeats
    for round_, at, away, back in ((1, 0, 0, 2), (2, beat - 2, 4, 2 * beat + 2)):
        time.sleep(max(0, began + at - time.monotonic()))
        trial.server.kill_supervised(away)
        time.sleep(max(0, began + back - time.monotonic()))
        for process in processes:
            check(process.running(), f'{process.name} ended: {process.status_text()}')
            process.send(signal.SIGUSR1)
        same_for_all(trial, processes, 'met', round_)
    same_for_all(trial, processes, 'finished', True)
    trial.all_succeed(processes)


def moved_behind_a_proxy(trial):
    """The server is killed, and another server starts at another address with its data, so late that each process' heartbeat is sent
    during the pause. The proxy holds the heartbeat; all meet, and end in order."""
    timeout = 2 * HEARTBEAT_TIMEOUT
    beat = timeout / 2
    trial.serve_behind_proxy(tasks=TASKS, heartbeat_timeout=timeout)
    processes = start_all(trial, 'live_on.py', '--rounds', 1, address=trial.proxy_address)
    same_for_all(trial, processes, 'met', 0)
    began = time.monotonic()  # approximate time of the first heartbeats
    time.sleep(beat - 2)
    trial.kill(trial.server.process)
    time.sleep(4)
    trial.serve_at(1)
    time.sleep(max(0, began + 2 * beat + 2 - time.monotonic()))
    for process in processes:
        check(process.running(), f'{process.name} ended: {process.status_text()}')
        process.send(signal.SIGUSR1)
    same_for_all(trial, processes, 'met', 1)
    same_for_all(trial, processes, 'finished', True)
    trial.all_succeed(processes)


def leader_killed(trial):
    """Two servers on etcd, with `muster proxy` in front of them. The leader is killed, so that each process' heartbeat is sent during
    the pause. The other server takes over, and no process gets an error."""
    live_through_the_leader(trial, 'muster proxy')


def leader_killed_haproxy(trial):
    """Like `leader_killed`, but behind haproxy with its few lines of Lua."""
    live_through_the_leader(trial, 'haproxy')


def live_through_the_leader(trial, before):
    timeout = 2 * HEARTBEAT_TIMEOUT
    beat = timeout / 2
    trial.serve_with_standby(before, tasks=TASKS, heartbeat_timeout=timeout)
    processes = start_all(trial, 'live_on.py', '--rounds', 1, address=trial.proxy_address)
    same_for_all(trial, processes, 'met', 0)
    began = time.monotonic()  # approximate time of the first heartbeats
    time.sleep(beat - 1.5)  # no other server can lead for 3 s
    trial.kill_leader()
    time.sleep(max(0, began + 2 * beat + 2 - time.monotonic()))
    for process in processes:
        check(process.running(), f'{process.name} ended: {process.status_text()}')
        process.send(signal.SIGUSR1)
    same_for_all(trial, processes, 'met', 1)
    same_for_all(trial, processes, 'finished', True)
    trial.all_succeed(processes)


def killed_after_the_server(trial):
    """The death of a process after a kill of the server is reported as usual: its connection to the new server was closed, and the
    others get the error with their next heartbeat."""
    trial.serve_supervised(tasks=TASKS, heartbeat_timeout=HEARTBEAT_TIMEOUT)
    processes = start_all(trial, 'live_on.py', '--rounds', 1)
    same_for_all(trial, processes, 'met', 0)
    trial.server.kill_supervised(0)
    time.sleep(HEARTBEAT_TIMEOUT / 2 + 1)  # each process has connected to the new server
    victim = processes.pop(2)
    began = time.monotonic()
    trial.kill(victim)
    for process in processes:
        status = process.wait(trial.deadline)
        check(status != 0, f'{process.name} ended as if nothing had happened')
        check(names_task(process.said(), 2), f'{process.name}: its last words do not name task 2')
    took = time.monotonic() - began
    limit = 3 + HEARTBEAT_TIMEOUT / 2 + 9
    check(took < limit, f'the others ended after {took:.1f} s, not within {limit} s')


def notice_unheard(trial):
    """JAX's wait for a preemption notice ends with the server and is not repeated. Muster names the processes that can no longer be
    notified. After they have repeated their preemption sync, a notice stops all processes after the same step."""
    trial.serve_supervised(tasks=TASKS, heartbeat_timeout=HEARTBEAT_TIMEOUT)
    processes = start_all(trial, 'preemption.py')
    same_for_all(trial, processes, 'begun', True)
    trial.server.await_waits('interop', TASKS, trial.deadline)
    trial.server.kill_supervised(0)
    unheard = trial.server.await_event('notice_unheard', trial.deadline)
    check('no longer receive preemption notices' in unheard['text'], unheard['text'])
    trial.server.await_alert('notice-unheard', True, trial.deadline)
    for process in processes:
        process.send(signal.SIGUSR1)
    same_for_all(trial, processes, 'renewed', True)
    trial.server.await_alert('notice-unheard', False, trial.deadline)
    processes[1].send(signal.SIGTERM)
    stopped = processes[0].event('stopped_after', trial.deadline)
    same_for_all(trial, processes[1:], 'stopped_after', stopped)
    trial.all_succeed(processes)


def stopped_for_a_while(trial):
    """A process that is stopped for 20 s keeps its connection, and is not blamed."""
    trial.serve(tasks=TASKS)
    processes = start_all(trial, 'wait_for_error.py', '--stay')
    for process in processes:
        process.event('ready', trial.deadline)
    processes[1].send(signal.SIGSTOP)
    time.sleep(20)
    processes[1].send(signal.SIGCONT)
    time.sleep(5)
    for process in processes:
        check(process.running(), f'{process.name} ended: {process.status_text()}')
    trial.kill(*processes)


def cut_off_for_a_while(trial):
    """One of three processes loses its network for 2 s: its calls wait, no process gets an error, and afterwards all meet."""
    network = trial.second_network()
    trial.serve(host=network.address, tasks=3)
    near = [trial.start('meet_again.py', i) for i in (0, 2)]
    far = trial.start('meet_again.py', 1, network=network)
    for process in (far, *near):
        process.event('ready', trial.deadline)
    network.unplug()
    time.sleep(CUT)
    network.plug_in()
    time.sleep(5)  # three seconds after its connection was closed the process would be blamed
    for process in (far, *near):
        check(process.running(), f'{process.name} ended: {process.status_text()}')
        process.send(signal.SIGUSR1)
    longest = far.event('longest_call', trial.deadline)
    check(longest > CUT / 2, f'no call took more than {longest:.1f} s: it was not cut off')
    same_for_all(trial, [far, *near], 'met', True)
    same_for_all(trial, [far, *near], 'finished', True)
    trial.all_succeed([far, *near])


def never_there(trial):
    """The last process is never started. The others get an error with its name before their own deadline."""
    absent = TASKS - 1
    trial.serve(tasks=TASKS)
    words = ('--initialization-timeout', INITIALIZATION_TIMEOUT)
    processes = [trial.start('register.py', i, *words) for i in range(absent)]
    for process in processes:
        process.event('registering', trial.deadline)
    began = time.monotonic()
    for process in processes:
        check(process.wait(trial.deadline) != 0, f'{process.name} ended as if all were well')
        # The text, not the time, distinguishes the server's answer from the client's own time-out.
        check(names_task(process.said(), absent),
              f'{process.name}: its last words do not name task {absent}')
    took = time.monotonic() - began
    limit = INITIALIZATION_TIMEOUT + CLIENT_GRACE + 1
    check(took < limit, f'they heard it after {took:.1f} s, not within {limit} s')


def started_again(trial):
    """The same job runs five times on one server: to its end; killed as a whole; started again at once; with one process missing;
    and once more complete. No state of an earlier run is visible."""
    trial.serve(tasks=TASKS)
    in_order(trial, 'first')

    processes = start_all(trial, 'register.py', '--stay', run='second')
    for process in processes:
        process.event('registered', trial.deadline)
    trial.kill(*processes)
    in_order(trial, 'third')

    words = ('--initialization-timeout', 3)
    for process in [trial.start('register.py', i, *words, run='fourth') for i in range(1, TASKS)]:
        check(process.wait(trial.deadline) != 0, f'{process.name} ended as if all were well')
    in_order(trial, 'fifth')


def in_order(trial, run):
    processes = start_all(trial, 'register.py', run=run)
    for process in processes:
        process.event('registered', trial.deadline)
    trial.all_succeed(processes)


SCENARIOS = [
    Scenario(killed),
    Scenario(killed_by_default, reference=False),
    Scenario(server_killed_twice, reference=False),
    Scenario(moved_behind_a_proxy, reference=False),
    Scenario(leader_killed, reference=False),
    Scenario(leader_killed_haproxy, reference=False),
    Scenario(killed_after_the_server, reference=False),
    Scenario(notice_unheard, reference=False),
    Scenario(stopped_for_a_while, since=(0, 10), reference=False),
    Scenario(cut_off_for_a_while),
    Scenario(never_there, reference=False),
    Scenario(started_again, seconds=150, reference=False),
]
