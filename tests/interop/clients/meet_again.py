"""Sets a key over and over until the driver says, by SIGUSR1, that the cut of a network is over;
then a key exchange and a barrier with all the others, and the orderly end."""
import signal
import time

from command_line import Signals, say, words
from jax_process import finish, initialize

LONG = 30_000  # milliseconds


def set_until(over, client, given):
    """The seconds of the call that took longest."""
    longest = 0
    while not over.wait(0.05):
        began = time.monotonic()
        client.key_value_set(f'alive/{given.index}', 'yes', allow_overwrite=True)
        longest = max(longest, time.monotonic() - began)
    return longest


def meet(client, given):
    client.key_value_set(f'again/{given.index}', f'from {given.index}')
    got = [client.blocking_key_value_get(f'again/{i}', LONG) for i in range(given.tasks)]
    assert got == [f'from {i}' for i in range(given.tasks)], got
    client.wait_at_barrier('again', LONG)


def main():
    given = words()
    over = Signals(signal.SIGUSR1)
    client = initialize(given)
    client.wait_at_barrier('all_here', LONG)
    say(ready=True)
    say(longest_call=set_until(over, client, given))
    meet(client, given)
    say(met=True)
    finish()


main()
