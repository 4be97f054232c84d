"""A second network for one trial: a namespace joined to this one by a cable that can be unplugged.

Needs the right to make namespaces (root, as a rule) and the `ip` program.
"""
import os
import subprocess
import threading

from driver.deadline import CannotRun, Failure


class Network:
    """Names and addresses from the process id, as in tests/e2e: tests run side by side. Each has a
    subnet of its own, four addresses of the range that is kept for tests, 198.18.0.0/15. A process
    has one at a time: another one waits for its end."""
    _only = threading.Lock()

    def __init__(self):
        self._only.acquire()
        self._closing = threading.Lock()
        pid = os.getpid()
        offset = pid % (1 << 15) * 4
        subnet = f'198.{18 + offset // 65536}.{offset // 256 % 256}'
        self.address = f'{subnet}.{offset % 256 + 1}'  # this side's, reachable from the other one
        far_address = f'{subnet}.{offset % 256 + 2}'
        self._name, self._near, self._far = f'muster{pid}', f'mun{pid}', f'muf{pid}'
        inside = f'-n {self._name}'
        try:
            for command in (
                    f'netns add {self._name}',
                    f'link add {self._near} type veth peer name {self._far} netns {self._name}',
                    f'addr add {self.address}/30 dev {self._near}',
                    f'link set {self._near} up',
                    f'{inside} addr add {far_address}/30 dev {self._far}',
                    f'{inside} link set {self._far} up',
                    f'{inside} link set lo up'):
                problem = self._ip(command)
                if problem:
                    raise CannotRun(f'no second network here: ip {command}: {problem}')
        except BaseException:
            self.close()
            raise

    def words(self):
        """To be put before a command line that is to run on the other side."""
        return ['ip', 'netns', 'exec', self._name]

    # At the far end: the kernel drops the routes to an address whose own link is set down, and
    # the processes of this side, which use that address too, are not to be cut off.
    def unplug(self):
        self._set_far_end('down')

    def plug_in(self):
        self._set_far_end('up')

    def close(self):
        """Once or more often."""
        if not self._closing.acquire(blocking=False):
            return
        self._ip(f'link del {self._near}')
        self._ip(f'netns del {self._name}')
        self._only.release()

    def _set_far_end(self, state):
        problem = self._ip(f'-n {self._name} link set {self._far} {state}')
        if problem:
            raise Failure(f'the cable cannot be set {state}: {problem}')

    @staticmethod
    def _ip(command):
        """Empty, or what it said when it failed."""
        try:
            done = subprocess.run(['ip', *command.split()], stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return done.stdout.strip() or 'failed' if done.returncode else ''
