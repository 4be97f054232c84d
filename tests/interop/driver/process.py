"""A program in a process group of its own, with output in files. Events can be awaited, and the program always ends with the
driver.

A client program sends events: lines of standard output that are JSON objects. Its other output is only kept for people.
"""
import json
import os
import queue
import signal
import subprocess
import threading

from driver.deadline import Failure


class Process:
    def __init__(self, name, argv, environment, folder):
        self.name = name
        self.out, self.err = folder / f'{name}.out', folder / f'{name}.err'
        self._events = queue.Queue()
        with open(self.err, 'wb') as err:
            # setpriv: ends with the driver, however that ends.
            self._child = subprocess.Popen(
                ['setpriv', '--pdeathsig', 'KILL', *map(str, argv)], env=environment, cwd=folder,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
                start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with open(self.out, 'wb', buffering=0) as out:
            for line in self._child.stdout:
                out.write(line)
                if line.startswith(b'{'):
                    self._events.put(json.loads(line))
        self._events.put(None)

    def event(self, kind, deadline):
        """Waits for the next event that has the field `kind`. Returns the value of the field."""
        while True:
            try:
                event = self._events.get(timeout=deadline.left())
            except queue.Empty:
                raise Failure(f'{self.name} did not say "{kind}" in time') from None
            if event is None:
                self._events.put(None)  # for later calls
                self.wait(deadline)
                raise Failure(f'{self.name} ended ({self.status_text()}) before it said "{kind}"')
            if kind in event:
                return event[kind]

    @property
    def pid(self):
        return self._child.pid

    def wait(self, deadline):
        """Returns the exit status; a negative number is a signal. All output has been read."""
        try:
            status = self._child.wait(deadline.left())
        except subprocess.TimeoutExpired:
            raise Failure(f'{self.name} did not end in time') from None
        self._reader.join(deadline.left())
        return status

    def running(self):
        return self._child.poll() is None

    def status_text(self):
        status = self._child.poll()
        if status is None:
            return 'still running'
        return signal.Signals(-status).name if status < 0 else f'status {status}'

    def send(self, which):
        self._child.send_signal(which)

    def kill(self):
        """Kills the whole group; does nothing if it has ended."""
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._child.wait()

    def said(self):
        """Returns the standard error output so far."""
        return self.err.read_text(errors='replace')

    def tail(self, lines):
        text = self.out.read_text(errors='replace') + self.said()
        return text.splitlines()[-lines:]
