"""Waits at a barrier that cannot be complete, until the error of another process ends this process."""
import threading

from command_line import say, words
from jax_process import error_of, initialize


def main():
    given = words()
    client = initialize(given)
    say(ready=True)
    if given.stay:  # the process that is killed never arrives at the barrier
        threading.Event().wait(60)
        return
    message, _ = error_of(client.wait_at_barrier, 'incomplete', 60_000)
    say(barrier_error=message)
    # Without a callback of its own, JAX ends a process that gets an error.
    threading.Event().wait(60)


main()
