"""A second network for one trial: a namespace connected to this one by a link that can be cut.

Needs the right to create namespaces (usually root) and the `ip` program.
"""
import os
import subprocess
import threading

from driver.deadline import CannotRun, Failure


class Network:
    """Derives names and addresses from the process id, as in tests/e2e, because tests run in parallel. Each network has a subnet of
    four addresses from the range reserved for tests, 198.18.0.0/15. A process has one network at a time; a second one waits for
    the end of the first."""
    _only = threading.Lock()

    def __init__(self):
        self._only.acquire()
        self._closing = threading.Lock()
        pid = os.getpid()
        offset = pid % (1 << 15) * 4
        subnet = f'198.{18 + offset // 65536}.{offset // 256 % 256}'
        self.address = f'{subnet}.{offset % 256 + 1}'  # the address of this side, which the other side can reach
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
        """Returns the beginning of a command line that runs on the other side."""
        return ['ip', 'netns', 'exec', self._name]

    # Cuts the far end: if its own link is down, the kernel drops the routes to an address. Processes of this side use the near
    # address too, and must not be cut off.
    def unplug(self):
        self._set_far_end('down')

    def plug_in(self):
        self._set_far_end('up')

    def close(self):
        """Can be called several times."""
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
        """Returns the error output of a failed command, or an empty text."""
        try:
            done = subprocess.run(['ip', *command.split()], stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return done.stdout.strip() or 'failed' if done.returncode else ''
