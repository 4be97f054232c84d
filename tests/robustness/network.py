"""Networks of a run. With the right to make network namespaces, every machine of a round is a namespace behind one router, and the
router can drop the packets between any two of them. Without it, all machines share the loopback interface."""
from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
PROGRAM_LIMIT = 10.0


class Loopback:
    """All machines share this one. Each server has an address of its own, because all use the same ports for clusters."""

    networks = "127.0.0.0/8"
    """Networks of all machines, as a list for `muster serve`."""

    def address(self, machine: str) -> str:
        kind, _, number = machine.partition("-")
        return f"127.0.0.{int(number) + 1}" if kind == "server" else "127.0.0.1"

    def words(self, machine: str) -> list[str]:
        """Returns the beginning of a command that runs on a machine."""
        return []

    def heal(self) -> None:
        pass


class Namespaces(Loopback):
    """Machines in namespaces of their own. This process is the router. The kernel removes all of it when the run ends."""

    networks = "127.0.0.0/8,198.18.0.0/15"

    def __init__(self, machines: list[str]) -> None:
        self._addresses = {machine: f"198.18.{n}.2" for n, machine in enumerate(machines)}
        self._rules: list[str] = []
        for n, machine in enumerate(machines):
            inside = f"-n {machine}"
            for command in (f"netns add {machine}", f"link add near{n} type veth peer name far{n} netns {machine}",
                            f"addr add 198.18.{n}.1/30 dev near{n}", f"link set near{n} up",
                            f"{inside} addr add 198.18.{n}.2/30 dev far{n}", f"{inside} link set far{n} up",
                            f"{inside} link set lo up", f"{inside} route add default via 198.18.{n}.1"):
                ip(command)
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        self.cut([machines[0]], machines[1:2])  # shows that the kernel has rules
        self.heal()

    def address(self, machine: str) -> str:
        return self._addresses[machine]

    def words(self, machine: str) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{machine}"]

    def cut(self, senders: list[str], receivers: list[str]) -> None:
        """Drops all packets from senders to receivers without an answer, also those of open connections."""
        for sender in senders:
            for receiver in receivers:
                rule = f"from {self._addresses[sender]} to {self._addresses[receiver]} blackhole"
                ip(f"rule add {rule}")
                self._rules.append(rule)

    def heal(self) -> None:
        while self._rules:
            ip(f"rule del {self._rules.pop()}")


def ip(words: str) -> None:
    """Runs the program ip. Raises OSError."""
    done = subprocess.run(["ip", *words.split()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=PROGRAM_LIMIT)
    if done.returncode:
        raise OSError(f"ip {words}: {done.stdout.strip()}")


def make_namespaces(machines: list[str]) -> Namespaces:
    """Moves this process, which must have one thread, into namespaces of its own, and makes the machines. Raises OSError."""
    flags, user, group = CLONE_NEWNS | CLONE_NEWNET, os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)

    def checked(result: int, name: str) -> None:
        if result:
            raise OSError(f"{name}: {os.strerror(ctypes.get_errno())}")

    checked(libc.unshare(flags if user == 0 else flags | CLONE_NEWUSER), "unshare")
    if user:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    ip("link set lo up")
    private = 1 << 18 | 1 << 14  # MS_PRIVATE | MS_REC: mounts stay in this run
    checked(libc.mount(b"none", b"/", None, private, None), "mount")
    checked(libc.mount(b"none", b"/run", b"tmpfs", 0, None), "mount")
    return Namespaces(machines)
