"""Faults. Each is one function that breaks something and repairs it; a seeded nemesis picks them."""
from __future__ import annotations

import collections
import random
import signal
import time

from network import Namespaces
from processes import Process, Servers
from recorder import Recorder, now

PROCESSES = ["kill-worker", "pause-worker", "kill-client", "pause-client"]
SERVERS = ["kill-server", "restart-server", "pause-server", "jump-clock", "partition-clients", "partition-workers"]
LOCAL = [*PROCESSES, *SERVERS, "lose-power", "tear-write", "slow-disk", "full-disk", "failed-disk"]
ETCD = [*PROCESSES, *SERVERS, "kill-etcd", "pause-etcd", "kill-server-and-etcd", "restart-etcd", "kill-quorum",
        "partition-etcd", "partition-member"]
ON_REQUEST = ["step-clock"]
"""Faults that only --nemesis names, because Muster does not survive them yet."""
LEASE = 3.0
"""Seconds of `serve --store-lease`, by default."""


def names_for(store: str) -> list[str]:
    """Returns the faults that a store allows."""
    return LOCAL if store == "local" else ETCD


class Nemesis:
    """Injects faults one after the other. Every fault is repaired before the next one begins.

    Two of them work at the same time: one breaks servers and what they depend on, the other one breaks workers and clients.
    """

    def __init__(self, servers: Servers, workers: list[Process], clients: list[Process], names: list[str],
                 unavailable: list[str], seed: str, history: Recorder) -> None:
        self.servers, self.workers, self.clients = servers, workers, clients
        self.random, self.history = random.Random(seed), history
        self.names, self.unavailable = names, unavailable
        self.counts: collections.Counter[str] = collections.Counter()
        self.skips: collections.Counter[str] = collections.Counter()

    def inject(self) -> None:
        """Injects one fault. Faults that this machine cannot inject are counted as skips."""
        if not self.names:
            return
        name = self.random.choice(self.names)
        if name in self.unavailable:
            self.skips[name] += 1
            return
        self.history.write(kind="fault", name=name, event="begin", at=now())
        getattr(self, name.replace("-", "_"))()
        if name not in PROCESSES:
            self.servers.await_ready()
        self.history.write(kind="fault", name=name, event="end", at=now())
        self.counts[name] += 1

    def _pause(self, process: Process, seconds: float) -> None:
        process.send(signal.SIGSTOP)
        time.sleep(seconds)
        process.send(signal.SIGCONT)

    def _some(self, processes: list[Process]) -> Process:
        return self.random.choice(processes)

    def _leader(self) -> Process:
        return self.servers.servers[self.servers.leader()]

    # Faults of workers and clients. The names of faults are the words of --nemesis, with "-" in place of "_".

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

    def pause_client(self) -> None:
        self._pause(self._some(self.clients), self.random.uniform(0.5, 3.0))

    # Faults of servers

    def kill_server(self) -> None:
        server = self._leader()
        server.kill()
        time.sleep(self.random.uniform(0.0, 1.5))
        server.start()

    def restart_server(self) -> None:
        """Stops the leader in order, or kills it after a few seconds: it waits for streams of paused clients."""
        server = self._leader()
        server.stop(4.0)
        server.start()

    def pause_server(self) -> None:
        """Stops the leader for longer than the lease in half of the cases."""
        self._pause(self._leader(), self.random.choice([0.5, 1.5, LEASE + 1, LEASE + 3]))

    def jump_clock(self) -> None:
        """Sets the wall clock of the servers forward or back by up to a day."""
        self.servers.disk.set_clock(self.random.randint(-86_400, 86_400))

    def step_clock(self) -> None:
        """Sets the wall clock as jump_clock does, and moves the end of gRPC's waits that have begun, as the kernel does."""
        self.jump_clock()

    # Faults of the disk

    def lose_power(self) -> None:
        """Kills the server and cuts off what its disk had not yet been told to keep."""
        self._lose_power(zeros=False)

    def tear_write(self) -> None:
        """Loses power while a write is on its way to the disk, so that the last record of the journal is torn."""
        self.servers.disk.set_fault("s")
        time.sleep(self.random.uniform(0.2, 0.6))  # a sync takes 0.2 s, so records wait for it
        self._lose_power(zeros=self.random.random() < 0.5)

    def _lose_power(self, zeros: bool) -> None:
        server = self.servers.servers[0]
        server.kill()
        self.servers.disk.set_fault("0")
        lost = self.servers.disk.lose_unsynced(random.Random(self.random.random()), zeros)
        self.history.write(kind="fault_detail", lost_bytes=lost, at=now())
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

    # Faults of etcd

    def kill_etcd(self) -> None:
        member = self._some(self.servers.etcd)
        member.kill()
        time.sleep(self.random.uniform(0.0, 3.0))
        member.start()

    def pause_etcd(self) -> None:
        self._pause(self._some(self.servers.etcd), self.random.uniform(0.5, 5.0))

    def kill_server_and_etcd(self) -> None:
        self._leader().kill()
        self.kill_etcd()

    def restart_etcd(self) -> None:
        """Restarts all members of etcd in order, one after the other."""
        for n in self.random.sample(range(len(self.servers.etcd)), len(self.servers.etcd)):
            self.servers.etcd[n].stop()
            self.servers.etcd[n].start()
            self.servers.await_member(n)

    def kill_quorum(self) -> None:
        """Kills two of three members, for longer than the lease in half of the cases."""
        members = self.random.sample(self.servers.etcd, 2)
        for member in members:
            member.kill()
        time.sleep(self.random.choice([0.5, LEASE + 1]))
        for member in members:
            member.start()

    # Faults of the network

    def partition_clients(self) -> None:
        self._cut([self._leader().machine], ["clients"])

    def partition_workers(self) -> None:
        self._cut([self._leader().machine], ["workers"])

    def partition_etcd(self) -> None:
        """Cuts the leader off from all members of etcd."""
        self._cut([self._leader().machine], [member.machine for member in self.servers.etcd])

    def partition_member(self) -> None:
        """Cuts one member of etcd off from the other two, and from the servers in half of the cases."""
        member = self._some(self.servers.etcd)
        others = [other.machine for other in self.servers.etcd if other is not member]
        if self.random.random() < 0.5:
            others += [server.machine for server in self.servers.servers]
        self._cut([member.machine], others)

    def _cut(self, left: list[str], right: list[str]) -> None:
        """Cuts machines off from each other, in one direction in half of the cases, and for longer than the lease in most."""
        network = self.servers.network
        assert isinstance(network, Namespaces)
        ways = self.random.choice(["both", "both", "to", "from"])
        if ways != "from":
            network.cut(left, right)
        if ways != "to":
            network.cut(right, left)
        time.sleep(self.random.choice([1.5, LEASE + 1, LEASE + 3]))
        network.heal()
