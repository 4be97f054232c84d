"""Communication between the driver and its client programs: arguments in, JSON events out."""
import argparse
import json
import os
import select
import signal


def words():
    parser = argparse.ArgumentParser()
    parser.add_argument('--index', type=int, required=True)
    parser.add_argument('--tasks', type=int, required=True)
    parser.add_argument('--heartbeat-timeout', type=int,
                        help="seconds; without it the library's own default")
    parser.add_argument('--initialization-timeout', type=int, default=60, help='seconds')
    parser.add_argument('--stay', action='store_true', help='wait to be killed')
    parser.add_argument('--rounds', type=int, default=0, help='how often the server is killed')
    parser.add_argument('--workers', help="HOST:PORT,HOST:PORT… of TensorFlow's own servers")
    return parser.parse_args()


def say(**event):
    print(json.dumps(event), flush=True)


class Signals:
    """Waits for signals of one number, the only one with a handler in Python. The handler takes no lock: the interrupted thread may
    hold that lock, and both would wait forever."""

    def __init__(self, number):
        self._arrived, write = os.pipe()
        os.set_blocking(write, False)
        signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(write)  # the interpreter writes one byte for each signal

    def wait(self, timeout=None):
        """Returns true and takes one signal, or returns false after `timeout` seconds."""
        ready, _, _ = select.select([self._arrived], [], [], timeout)
        return bool(ready) and bool(os.read(self._arrived, 1))
