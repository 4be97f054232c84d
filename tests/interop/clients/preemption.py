"""Works in steps until the preemption sync returns a step to stop after. SIGUSR1 makes it repeat its preemption sync with
muster.jax, and report that. The following step is long, so that a notice finds a sync that was asked once."""
import os
import signal
import sys
import time

from command_line import Signals, say, words
from jax_process import finish, initialize  # sets variables that JAX reads

# isort: split
from jax.experimental import multihost_utils

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', '..', '..', 'python'))
from muster.jax import renew_preemption_sync

LONG_STEP = 3  # in seconds


def main():
    given = words()
    renew = Signals(signal.SIGUSR1)
    client = initialize(given)
    client.wait_at_barrier('begin', 60_000)
    say(begun=True)
    for step in range(10_000):
        time.sleep(0.05)
        if renew.wait(0):
            reached = renew_preemption_sync(step)
            say(renewed=True)
            time.sleep(LONG_STEP)
        else:
            reached = multihost_utils.reached_preemption_sync_point(step)
        if reached:
            say(stopped_after=step)
            return finish()


main()
