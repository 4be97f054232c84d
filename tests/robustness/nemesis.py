"""Faults. Each is one function that breaks something and repairs it; a seeded nemesis picks them."""
from __future__ import annotations

import random
import signal
import time
from typing import Callable

from processes import Process, Servers
from recorder import Recorder, now


class Nemesis:
    """Injects faults one after the other. Every fault is repaired before the next one begins."""

    def __init__(self, servers: Servers, workers: list[Process], clients: list[Process], names: list[str],
                 random_source: random.Random, history: Recorder) -> None:
        self.servers, self.workers, self.clients = servers, workers, clients
        self.random, self.history = random_source, history
        self.faults: list[Callable[[], None]] = [getattr(self, name.replace("-", "_")) for name in names]
        self.count = 0

    def inject(self) -> None:
        """Injects one fault and waits until the servers serve again."""
        fault = self.random.choice(self.faults)
        self.history.write(kind="fault", name=fault.__name__, event="begin", at=now())
        fault()
        self.servers.await_ready()
        self.history.write(kind="fault", name=fault.__name__, event="end", at=now())
        self.count += 1

    def _pause(self, process: Process, seconds: float) -> None:
        process.send(signal.SIGSTOP)
        time.sleep(seconds)
        process.send(signal.SIGCONT)

    def _some(self, processes: list[Process]) -> Process:
        return self.random.choice(processes)

    # Faults. Their names are the words of --nemesis, with "-" in place of "_".

    def kill_server(self) -> None:
        server = self.servers.servers[self.servers.leader()]
        server.kill()
        time.sleep(self.random.uniform(0.0, 1.5))
        server.start()

    def pause_server(self) -> None:
        """Stops the leader for longer than the lease (3 s) in half of the cases."""
        self._pause(self.servers.servers[self.servers.leader()], self.random.choice([0.5, 1.5, 4.0, 6.0]))

    def lose_power(self) -> None:
        """Kills the server and cuts off what its disk had not yet been told to keep."""
        server = self.servers.servers[0]
        server.kill()
        self.servers.disk.lose_unsynced(self.random)
        server.start()

    def slow_disk(self) -> None:
        self._break_disk("s", self.random.uniform(1.0, 3.0))

    def full_disk(self) -> None:
        self._break_disk("f", self.random.uniform(1.0, 4.0))

    def failed_disk(self) -> None:
        """Lets syncs fail. The server refuses durable work from then on, until an operator starts it again."""
        self._break_disk("e", self.random.uniform(0.5, 2.0))
        self.kill_server()

    def _break_disk(self, fault: str, seconds: float) -> None:
        self.servers.disk.set_fault(fault)
        time.sleep(seconds)
        self.servers.disk.set_fault("0")

    def jump_clock(self) -> None:
        """Sets the wall clock of the servers forward or back by up to a day."""
        self.servers.disk.set_clock(self.random.randint(-86_400, 86_400))

    def kill_worker(self) -> None:
        worker = self._some(self.workers)
        worker.kill()
        time.sleep(self.random.uniform(0.0, 1.0))
        worker.start()

    def pause_worker(self) -> None:
        self._pause(self._some(self.workers), self.random.uniform(0.5, 3.0))

    def kill_client(self) -> None:
        client = self._some(self.clients)
        client.kill()
        client.start()

    def kill_etcd(self) -> None:
        member = self._some(self.servers.etcd)
        member.kill()
        time.sleep(self.random.uniform(0.0, 3.0))
        member.start()

    def pause_etcd(self) -> None:
        self._pause(self._some(self.servers.etcd), self.random.uniform(0.5, 5.0))

    def kill_server_and_etcd(self) -> None:
        self.servers.servers[self.servers.leader()].kill()
        self.kill_etcd()


ALWAYS = ["kill-server", "pause-server", "kill-worker", "pause-worker", "kill-client", "jump-clock"]
LOCAL = [*ALWAYS, "lose-power", "slow-disk", "full-disk", "failed-disk"]
ETCD = [*ALWAYS, "kill-etcd", "pause-etcd", "kill-server-and-etcd"]


def names_for(store: str) -> list[str]:
    """Returns the faults that a store allows."""
    return LOCAL if store == "local" else ETCD
