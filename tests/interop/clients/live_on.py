"""Meets all other processes once before each kill of the server and once after it, and ends in order. The program gets no
error although the server was down."""
import signal

from command_line import Signals, say, words
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
    go = Signals(signal.SIGUSR1)
    client = initialize(given)
    meet(client, given, 0)
    for round_ in range(1, given.rounds + 1):
        go.wait()
        meet(client, given, round_)
    finish()


main()
