"""Servers, etcd members and workers of a round, which faults kill, pause and start again."""
from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any

from network import Loopback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
START_LIMIT = 60.0
ADMIN_TOKEN = "admin-of-the-robustness-run-on-loopback"
"""Token of all clients and workers, which find it in MUSTER_TOKEN. Servers read it from a file."""


class Stuck(Exception):
    """A process did not become ready within its limit."""


def free_ports(count: int) -> list[int]:
    """Returns ports that nothing listens on, outside of the range that the kernel gives to clients."""
    found: list[int] = []
    candidates = random.SystemRandom().sample(range(13000, 19900), 400)
    for port in candidates:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise Stuck("no free ports")


class Process:
    """A process on one machine of the network, which can be killed and started again with the same command."""

    def __init__(self, name: str, command: list[str], folder: pathlib.Path, network: Loopback, machine: str,
                 environment: dict[str, str] | None = None) -> None:
        self.name, self.machine, self.log = name, machine, folder / f"{name}.log"
        self.command = [*network.words(machine), *command]
        self.environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            log.write(f"--- started at {time.monotonic_ns()}\n".encode())
            log.flush()
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=self.environment, start_new_session=True)

    @property
    def pid(self) -> int:
        """REQUIRES: the process was started."""
        assert self.process is not None
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, number: int) -> None:
        """Sends a signal to the process and all that it has started."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def peak_memory(self) -> int:
        """Returns the largest resident set of the process so far in bytes; 0 if it does not run."""
        if not self.is_running or self.process is None:
            return 0
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)

    def kill(self) -> None:
        self.send(signal.SIGCONT)
        self.send(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def stop(self, limit: float = 30.0) -> int | None:
        """Ends the process with SIGTERM. Returns its status; None if it had to be killed."""
        if self.process is None:
            return 0
        self.send(signal.SIGCONT)
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
            self.process.send_signal(signal.SIGUSR1)  # clients print their stacks
            time.sleep(0.5)
        self.kill()
        return status


def get_text(url: str, timeout: float = 5.0) -> bytes:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
    any_certificate = ssl._create_unverified_context() if url.startswith("https:") else None
    with urllib.request.urlopen(request, timeout=timeout, context=any_certificate) as answer:
        text: bytes = answer.read()
    return text


def get(url: str, timeout: float = 5.0) -> Any:
    return json.loads(get_text(url, timeout))


class Disk:
    """Faults of the disk below a server's data directory, and of its clock, by a library for LD_PRELOAD."""

    def __init__(self, folder: pathlib.Path, library: pathlib.Path) -> None:
        self.data = folder / "data"
        self._control, self._synced = folder / "disk", folder / "synced"
        self._control.write_bytes(b"0" + bytes(15))
        self.environment = {"LD_PRELOAD": str(library), "MUSTER_DISK_DIR": str(self.data),
                            "MUSTER_DISK_CONTROL": str(self._control), "MUSTER_DISK_SYNCED": str(self._synced)}

    def set_fault(self, fault: str) -> None:
        """Sets the fault of all later calls: "0" none, "s" slow syncs, "e" failing syncs, "f" a full disk."""
        with self._control.open("r+b") as file:
            file.write(fault.encode())

    def set_clock(self, seconds: int) -> None:
        """Sets how far the server's wall clock is ahead of the machine's."""
        with self._control.open("r+b", buffering=0) as file:
            file.seek(8)
            file.write(struct.pack("=q", seconds))

    def lose_unsynced(self, source: random.Random, zeros: bool) -> int:
        """Loses what a loss of power can lose of the journal's files: all after a random byte behind the last sync.

        Args:
            source: chooses the byte.
            zeros: the file system has stored the new size, but none of the bytes behind the last sync, which are zeros.

        Returns:
            The number of lost bytes.
        """
        sizes: dict[str, int] = {}
        for line in self._synced.read_text().splitlines():
            size, path = line.split(" ", 1)
            sizes[path] = int(size)
        lost = 0
        for file in self.data.rglob("*"):
            if not file.is_file() or not (file.suffix == ".log" or file.name.startswith("MANIFEST-")):
                continue
            written, synced = file.stat().st_size, sizes.get(str(file), 0)
            if written > synced:
                kept = synced if zeros else source.randint(synced, written)
                os.truncate(file, kept)
                if zeros:
                    os.truncate(file, written)
                lost += written - kept
        return lost


class Servers:
    """One server with a data directory, or two servers on an etcd cluster of three members."""

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path, store: str, agents: int, disk_library: pathlib.Path,
                 network: Loopback) -> None:
        self.folder, self.store, self.network = folder, store, network
        self.disk = Disk(folder, disk_library)
        count = 1 if store == "local" else 2
        agents_port, *ports = free_ports(1 + 3 * count + 6)
        self.etcd = [] if store == "local" else self._etcd(ports[-6:], tls=store == "etcd3tls")
        self.servers: list[Process] = []
        self.http: list[str] = []
        self.grpc: list[str] = []
        self.torch: list[str] = []
        tokens = folder / "tokens"
        tokens.write_text(f"admin {ADMIN_TOKEN} allow-exec\n")
        for n in range(count):
            host = network.address(f"server-{n}")
            grpc, http, torch = ports[3 * n:3 * n + 3]
            self.grpc.append(f"{host}:{grpc}")
            self.http.append(f"http://{host}:{http}")
            self.torch.append(f"{host}:{torch}")
            where = ["--data-dir", str(folder / "data")] if store == "local" else [
                "--store", self.store_url, *self._store_flags(), "--advertise", f"{host}:{http}"]
            command = [str(binary), "serve", "--grpc", self.grpc[-1], "--http", f"{host}:{http}", *where,
                       "--torch", self.torch[-1], "--torch-from", network.networks, "--agents-from", network.networks,
                       "--auth", "on", "--token-file", str(tokens),
                       "--cluster", "default:plain=1", "--cluster", f"agents:worker={agents};heartbeat_timeout=20s",
                       "--cluster-ports", f"{agents_port}-{agents_port}", "--insecure", "--log-level", "info"]
            self.servers.append(Process(f"server-{n}", command, folder, network, f"server-{n}", self.disk.environment))

    def _etcd(self, ports: list[int], tls: bool) -> list[Process]:
        hosts = [self.network.address(f"etcd-{n}") for n in range(3)]
        scheme, flags = "http", []
        if tls:
            scheme = "https"
            key, cert = self.folder / "etcd.key", self.folder / "etcd.crt"
            names = ",".join(f"IP:{host}" for host in dict.fromkeys(hosts))
            # Valid from two days ago on, because jump-clock sets the clock of servers back by up to a day.
            subprocess.run(["faketime", "-f", "-2d", "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                            "-out", cert, "-days", "5", "-subj", "/CN=etcd", "-addext", f"subjectAltName={names}"],
                           check=True, capture_output=True)
            flags = [f"--cert-file={cert}", f"--key-file={key}"]
        clients = [f"{host}:{port}" for host, port in zip(hosts, ports[:3])]
        peers = [f"http://{host}:{port}" for host, port in zip(hosts, ports[3:])]
        members = ",".join(f"m{n}={peer}" for n, peer in enumerate(peers))
        self.store_url = ("etcds://" if tls else "etcd://") + ",".join(clients) + "/muster"
        self.member_urls = [f"{scheme}://{client}" for client in clients]
        return [Process(f"etcd-{n}", [
            "etcd", f"--name=m{n}", f"--data-dir={self.folder / f'etcd-{n}'}",
            f"--listen-client-urls={self.member_urls[n]}", f"--advertise-client-urls={self.member_urls[n]}",
            f"--listen-peer-urls={peers[n]}", f"--initial-advertise-peer-urls={peers[n]}",
            f"--initial-cluster={members}", "--log-level=error", "--heartbeat-interval=100",
            "--election-timeout=1000", *flags], self.folder, self.network, f"etcd-{n}") for n in range(3)]

    def _store_flags(self) -> list[str]:
        return ["--store-ca", str(self.folder / "etcd.crt")] if self.store == "etcd3tls" else []

    def start(self) -> None:
        for member in self.etcd:
            member.start()
        for server in self.servers:
            server.start()
        self.await_ready()

    def start_if_ended(self) -> None:
        """Starts servers again that ended by themselves, such as a leader that lost its lease."""
        for process in (*self.etcd, *self.servers):
            if not process.is_running:
                process.start()

    def await_ready(self) -> str:
        """Returns the address of the server that serves. Raises Stuck."""
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end:
            self.start_if_ended()
            for url in self.http:
                try:
                    if get(url + "/api/v1/overview", 2.0):
                        return url
                except (OSError, ValueError):
                    pass
            time.sleep(0.05)
        raise Stuck(f"no server is ready within {START_LIMIT:g} s; see {self.folder}")

    def await_member(self, n: int) -> None:
        """Returns when a member of etcd takes part in its cluster again. Raises Stuck."""
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end:
            try:
                if get(self.member_urls[n] + "/health", 2.0)["health"] == "true":
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.05)
        raise Stuck(f"etcd-{n} is not healthy within {START_LIMIT:g} s; see {self.folder}")

    def leader(self) -> int:
        """Returns the index of the server that serves, 0 if none does."""
        for n, url in enumerate(self.http):
            try:
                get(url + "/api/v1/overview", 1.0)
                return n
            except (OSError, ValueError):
                continue
        return 0

    def stop(self) -> list[str]:
        """Stops all. Returns what did not end in order."""
        wrong = []
        for server in self.servers:
            ended_before = not server.is_running
            status = server.stop()
            if status != 0 and not ended_before:
                wrong.append(f"{server.name} ended with status {status}")
        for member in self.etcd:
            member.kill()
        return wrong


def worker_command(grpc: list[str], index: int) -> list[str]:
    servers = [word for address in grpc for word in ("--server", address)]
    return [sys.executable, "-m", "muster", "worker", *servers, "--index", str(index), "--processes", "2",
            "functions"]


def program_worker_command(binary: pathlib.Path, grpc: list[str], index: int, folder: pathlib.Path) -> list[str]:
    return [str(binary), "worker", "--server", ",".join(grpc), "--index", str(index), "--slots", "2",
            "--allow-programs", "--program-dir", str(folder / f"programs-{index}")]
