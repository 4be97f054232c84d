"""Hangs of one rank of a program: another kind in each attempt, and none in the attempt after the last kind."""
import os
import re
import signal
import time

VICTIM, AT = 2, 5
KINDS = ('sleep', 'lock_held_in_c', 'fifo', 'stopped')


def next_batch(rank, step, folder):
    """Called by every rank before its step."""
    attempt = int(os.environ['MUSTER_ATTEMPT'])
    if (rank, step) != (VICTIM, AT) or attempt > len(KINDS):
        return
    kind = KINDS[attempt - 1]
    (folder / f'waits-{attempt}').touch()
    if kind == 'sleep':
        time.sleep(1000)
    elif kind == 'lock_held_in_c':
        re.match(r'(a+)+$', 'a' * 60 + 'b')
    elif kind == 'fifo':
        (folder / 'data').read_bytes()
    else:
        os.kill(os.getpid(), signal.SIGSTOP)
