"""Works in steps until the preemption sync names one to stop after. SIGUSR1: makes its preemption
sync anew by muster.jax, and says so."""
import os
import signal
import sys
import threading
import time

from command_line import say, words
from jax_process import finish, initialize

from jax.experimental import multihost_utils

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', '..', '..', 'python'))


def main():
    given = words()
    renew = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: renew.set())
    client = initialize(given)
    client.wait_at_barrier('begin', 60_000)
    say(begun=True)
    for step in range(10_000):
        if renew.is_set():
            renew.clear()
            from muster.jax import renew_preemption_sync
            renew_preemption_sync()
            say(renewed=True)
        time.sleep(0.05)
        if multihost_utils.reached_preemption_sync_point(step):
            say(stopped_after=step)
            return finish()


main()
