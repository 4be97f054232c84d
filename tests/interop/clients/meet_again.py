"""Sets a key repeatedly until the driver reports with SIGUSR1 that the network works again. Then exchanges keys and meets at a
barrier with all others, and ends in order."""
import signal
import time

from command_line import Signals, say, words
from jax_process import finish, initialize

LONG = 30_000  # milliseconds


def set_until(over, client, given):
    """Sets keys until `over`. Returns the seconds of the longest call."""
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
