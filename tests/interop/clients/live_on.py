"""Meets all the others once before each kill of the server and after it, and ends in order: the
program never hears that the server was away."""
import signal
import threading

from command_line import say, words
from jax_process import finish, initialize

LONG = 60_000  # milliseconds


def meet(client, given, round_):
    client.key_value_set(f'round/{round_}/{given.index}', 'here')
    client.wait_at_barrier('step', LONG)
    seen = len(client.key_value_dir_get(f'round/{round_}'))
    assert seen == given.tasks, (round_, seen)
    say(met=round_)


def main():
    given = words()
    go = threading.Semaphore(0)
    signal.signal(signal.SIGUSR1, lambda *_: go.release())
    client = initialize(given)
    meet(client, given, 0)
    for round_ in range(1, given.rounds + 1):
        while not go.acquire(timeout=0.1):  # so that the signal is handled
            pass
        meet(client, given, round_)
    finish()


main()
