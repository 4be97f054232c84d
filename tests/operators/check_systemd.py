"""Checks the units under deploy/systemd with systemd's own tools, and the watchdog: its notifications come from the engine thread,
so they stop if that thread hangs."""
import ctypes
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import unittest

import support

UNITS = support.PROJECT / "deploy/systemd"
WATCHDOG = 0.6  # seconds; a notification every 0.2 s


class Units(unittest.TestCase):
    def test_systemd_reports_no_problem(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for unit in UNITS.iterdir():
                text = unit.read_text().replace("/usr/bin/muster", support.MUSTER)
                (folder / unit.name).write_text(text)
            units = sorted(folder.iterdir())
            self.assertEqual([u.name for u in units],
                             ["muster-worker.service", "muster.service", "muster.socket"])
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def exposure(self, unit):
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                               UNITS / unit], capture_output=True, text=True, timeout=60)
        return float(re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)[1])

    def test_units_are_hardened(self):
        self.assertLessEqual(self.exposure("muster.service"), 1.5)
        self.assertLessEqual(self.exposure("muster-worker.service"), 3.5)


class Manager:
    """systemd's end of NOTIFY_SOCKET."""

    def __init__(self, folder):
        self.path = f"{folder}/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)

    def next(self, within=support.DEADLINE):
        self.socket.settimeout(within)
        try:
            return self.socket.recv(4096).decode()
        except TimeoutError:
            return None

    def until(self, wanted):
        end = time.monotonic() + support.DEADLINE
        while time.monotonic() < end:
            if self.next() == wanted:
                return
        raise AssertionError(f"{wanted} did not come")


class StoppedThread:
    """Stops one thread of a process, as if it hung."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, pid, name):
        tasks = pathlib.Path(f"/proc/{pid}/task")
        self.thread = next(int(t.name) for t in tasks.iterdir()
                           if (t / "comm").read_text().strip() == name)

    def ptrace(self, request):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.restype = ctypes.c_long
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        if libc.ptrace(request, self.thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")

    def __enter__(self):
        self.ptrace(self.SEIZE)
        self.ptrace(self.INTERRUPT)
        os.waitpid(self.thread, 0x40000000)  # __WALL

    def __exit__(self, *_):
        self.ptrace(self.DETACH)


class Watchdog(unittest.TestCase):
    def served(self, folder, **environment):
        manager = Manager(folder)
        self.addCleanup(manager.socket.close)
        server = support.Server(folder, environment={"NOTIFY_SOCKET": manager.path, **environment})
        self.addCleanup(server.stop)
        return manager, server

    def test_watchdog_messages_stop_while_the_engine_hangs(self):
        with tempfile.TemporaryDirectory() as folder:
            manager, server = self.served(folder, WATCHDOG_USEC=str(int(WATCHDOG * 1e6)))
            manager.until("READY=1")
            for _ in range(3):
                self.assertEqual(manager.next(), "WATCHDOG=1")
            with StoppedThread(server.process.pid, "engine"):
                self.assertEqual(server.get("/livez"), "ok\n")  # the web thread still runs
                while manager.next(within=WATCHDOG / 3) is not None:
                    pass  # notifications that were already sent
                self.assertIsNone(manager.next(within=3 * WATCHDOG))
            manager.until("WATCHDOG=1")
            server.process.terminate()
            manager.until("STOPPING=1")
            self.assertEqual(server.process.wait(support.DEADLINE), 0)

    def test_no_watchdog_messages_are_sent_without_a_watchdog(self):
        for environment in ({}, {"WATCHDOG_USEC": "600000", "WATCHDOG_PID": "1"}):
            with tempfile.TemporaryDirectory() as folder:
                manager, server = self.served(folder, **environment)
                manager.until("READY=1")
                self.assertIsNone(manager.next(within=3 * WATCHDOG))
                server.process.terminate()
                self.assertEqual(manager.next(), "STOPPING=1")


support.main()
