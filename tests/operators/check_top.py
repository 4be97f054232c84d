"""muster top: one frame without a terminal. On a pseudo-terminal: live updates, keys, changes of size, a server that stops and
restarts, and a terminal that is restored at every end."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import support

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Top:
    """Runs muster top on a terminal of its own."""

    def __init__(self, url, *words, rows=30, columns=100):
        self.main, self.terminal = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.terminal)
        self.text = ""

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [support.MUSTER, "top", "--url", url, "--interval", "200ms", *words],
            stdin=self.terminal, stdout=self.terminal, stderr=subprocess.PIPE,
            env=support.ENVIRONMENT, preexec_fn=lead)

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def key(self, text):
        os.write(self.main, text.encode())

    def read(self, within):
        if select.select([self.main], [], [], within)[0]:
            self.text += os.read(self.main, 65536).decode(errors="replace")

    def frames(self):
        """Returns the complete frames, as lines."""
        return [[re.sub(r"\x1b\[\S*?[A-Za-z]", "", line).rstrip() for line in part.split("\r\n")]
                for part in self.text.split("\x1b[H")[1:] if part.endswith("\x1b[J") or "\x1b[J" in part]

    def until(self, holds, said):
        """Returns the first new frame for which `holds` is true."""
        self.text = self.text[self.text.rfind("\x1b[H"):] if "\x1b[H" in self.text else self.text
        end = time.monotonic() + support.DEADLINE
        while time.monotonic() < end:
            self.read(0.1)
            for frame in self.frames():
                if holds(frame):
                    self.text = ""
                    return frame
        raise AssertionError(f"{said}: not in {self.frames()[-1:]} {self.text[-300:]!r}")

    def ended(self):
        """Waits for the end. Returns the exit status; `text` then contains all output."""
        end = time.monotonic() + support.DEADLINE
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0)
        return self.process.wait(1)

    def is_given_back(self):
        """Returns whether the terminal's attributes and screen are restored."""
        return termios.tcgetattr(self.terminal) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self.main)
        os.close(self.terminal)


def has(*parts):
    return lambda frame: all(any(part in line for line in frame) for part in parts)


class Once(unittest.TestCase):
    def test_one_frame_is_printed_without_a_terminal(self):
        with support.server() as s:
            s.worker("--slots", "2", "--index", "4")
            job = s.run("submit", "muster.sleep", "120s", "--no-wait").stdout.strip()
            running = lambda: json.loads(s.get("/api/v1/overview"))["closures"]["running"]
            support.until(running, "it runs")
            for words in ((), ("--once",)):
                done = s.run("top", *words)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertNotIn("\x1b", done.stdout)
                self.assertRegex(done.stdout, r"(?m)^muster \S+  " + s.url + "  up ")
                self.assertRegex(done.stdout, r"(?m)^closures  1 running  0 queued")
                self.assertRegex(done.stdout, r"(?m)^tasks     1 connected")
                self.assertRegex(done.stdout, r"(?m)^worker:4 +CONNECTED +1 +2 ")
                self.assertRegex(done.stdout, r"(?m)^ *\S+ \S+ +cl_\w+ +muster.sleep +worker:4 +" + job)
                self.assertNotIn("PROGRAM", done.stdout)
            told = json.loads(s.run("top", "--output", "json").stdout)
            self.assertEqual(told["programs"], [])
            self.assertEqual([c["function"] for c in told["slowest"]], ["muster.sleep"])
            self.assertEqual(told["overview"]["closures"]["running"], 1)
            self.assertEqual(len(told["tasks"]), 1)

    def test_invalid_usage_has_distinct_exit_statuses(self):
        self.assertEqual(support.run("top", "--url", "http://127.0.0.1:9").returncode, 3)
        done = support.run("top", "--interval", "1ms")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--interval must be at least 100ms", done.stderr)


class Live(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.server = support.Server(self.folder.name)
        self.addCleanup(self.server.stop)

    def top(self, *words, **options):
        made = Top(self.server.url, *words, **options)
        self.addCleanup(made.close)
        return made

    def test_display_follows_changes(self):
        top = self.top()
        top.until(has("no task is connected", "no closure is running"), "nobody")
        self.server.worker("--slots", "1")
        top.until(has("tasks     1 connected", "worker:0  CONNECTED"), "a worker")
        for _ in range(5):
            self.assertEqual(self.server.run("submit", "muster.noop").returncode, 0)
        frame = top.until(lambda f: any(re.match(r"worker:0 .* 5 +0 ", line) for line in f), "five")
        self.assertTrue(any(re.match(r"worker:0 +CONNECTED +\d+ +1 +\d+\.\d ", line) for line in frame),
                        frame)

    def test_keys_sort_and_quit(self):
        top = self.top()
        top.until(has("q quit  s sort: task"), "the first order")
        for order in ("running", "rate", "failed", "task"):
            top.key("s")
            top.until(has(f"s sort: {order}"), order)
        self.assertFalse(top.is_given_back())
        top.key("q")
        self.assertEqual(top.ended(), 0)
        self.assertTrue(top.is_given_back())
        self.assertIn(LEAVE, top.text)
        self.assertTrue(top.text.index("\x1b[?25h") < top.text.index(LEAVE))

    def test_every_frame_fits(self):
        for index in range(6):
            self.server.worker("--slots", "1", "--index", str(index))
        top = self.top(rows=12, columns=40)
        small = top.until(lambda f: any("more" in line for line in f), "cut")
        self.assertLessEqual(len(small), 12)
        self.assertLessEqual(max(map(len, small)), 40)
        top.resize(30, 120)
        large = top.until(has("worker:5"), "all of it")
        self.assertFalse(any("more" in line for line in large), large)
        top.resize(3, 20)
        top.until(lambda f: len(f) == 3 and max(map(len, f)) <= 20, "three lines")

    def test_signals_restore_the_terminal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            top = self.top()
            top.until(has("q quit"), "a frame")
            if number == signal.SIGINT:
                top.key("\x03")  # as a user would
            else:
                top.process.send_signal(number)
            self.assertEqual(top.ended(), -number)
            self.assertTrue(top.is_given_back(), number)
            self.assertIn(LEAVE, top.text)

    def test_top_continues_after_suspension(self):
        top = self.top()
        top.until(has("q quit"), "a frame")
        top.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(top.process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        top.read(0.1)
        self.assertIn(LEAVE, top.text)
        self.assertTrue(top.is_given_back())
        top.text = ""
        top.process.send_signal(signal.SIGCONT)
        top.until(has("q quit"), "it goes on")
        self.assertFalse(top.is_given_back())

    def test_top_outlives_the_server(self):
        top = self.top()
        top.until(has("q quit"), "a frame")
        self.server.process.kill()
        self.server.process.wait()
        top.until(has("AWAY: no server answers", "q quit"), "away")
        top.key("s")
        top.until(has("s sort: running", "AWAY"), "keys are heard")
        self.server.start(self.server.grpc, self.server.http)
        top.until(lambda f: has("q quit")(f) and not has("AWAY")(f), "back")

    def test_terminal_is_restored_without_a_server(self):
        self.server.process.kill()
        top = self.top()
        self.assertEqual(top.ended(), 3)
        self.assertTrue(top.is_given_back())
        self.assertIn("no server answers", top.process.stderr.read().decode())

    def test_silent_server_delays_no_key(self):
        top = self.top()
        top.until(has("q quit"), "a frame")
        self.server.process.send_signal(signal.SIGSTOP)
        for order in ("running", "rate"):
            top.key("s")
            top.until(has(f"s sort: {order}"), order)
        top.key("q")
        self.assertEqual(top.ended(), 0)
        self.assertTrue(top.is_given_back())


support.main()
