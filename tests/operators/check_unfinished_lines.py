"""Lines without a newline, such as progress bars, on a terminal (a pseudo-terminal) and in a pipe."""
import os
import pathlib
import pty
import select
import subprocess
import tempfile
import time
import unittest

import support

BAR, END = "\x1b[?7l", "\x1b[?7h\r"
HALF = "printf half; while [ ! -e {}/go ]; do sleep 0.05; done; echo ' done'"


class Terminal:
    """Runs a command on a terminal of its own."""

    def __init__(self, *words):
        self.main, terminal = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen([support.MUSTER, *words], stdin=subprocess.DEVNULL,
                                        stdout=terminal, stderr=terminal, env=support.ENVIRONMENT)
        os.close(terminal)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.main)

    def until(self, holds, said):
        end = time.monotonic() + support.DEADLINE
        while not holds(self.text):
            assert time.monotonic() < end, f"{said}: {self.text!r}"
            if select.select([self.main], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.main, 65536).decode()
                except OSError:  # the command has ended
                    assert holds(self.text), f"{said}: {self.text!r}"


class UnfinishedLines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.half = HALF.format(self.folder)

    def go(self):
        (self.folder / "go").touch()

    def test_unfinished_line_of_a_run_is_shown(self):
        with Terminal("run", "-n", "1", "--no-prefix", "--", "sh", "-c", self.half) as shown:
            shown.until(lambda text: BAR + "half" + END in text, "an unfinished line")
            self.go()
            shown.until(lambda text: "\x1b[Khalf done\r\n" in text, "the line replaces it")
            self.assertEqual(shown.process.wait(support.DEADLINE), 0)

    def test_control_characters_of_ranks_become_spaces_in_a_pipe(self):
        with support.server() as server:
            server.worker("--allow-programs")
            done = support.run("launch", "--url", server.url, "--name", "p", "--", "printf",
                               "a\\033[31mb\\n")
            self.assertEqual(done.stdout, "rank 0 | a [31mb\n")
            self.assertEqual(server.run("logs", "p").stdout, "rank 0 | a [31mb\n")

    def test_unfinished_lines_of_ranks_are_shown(self):
        with support.server() as server:
            server.worker("--allow-programs")
            words = ("launch", "--url", server.url, "--name", "p", "--", "sh", "-c", self.half)
            with Terminal(*words) as shown:
                bar = BAR + "rank 0 | half" + END
                shown.until(lambda text: bar in text, "an unfinished line")
                with Terminal("logs", "p", "--follow", "--url", server.url) as second:
                    second.until(lambda text: bar in text, "the same for a second reader")
                self.go()
                shown.until(lambda text: "rank 0 | half done\r\n" in text, "the whole line")
                self.assertEqual(shown.process.wait(support.DEADLINE), 0)
            self.assertEqual(server.run("logs", "p").stdout, "rank 0 | half done\n")

    def test_unfinished_line_of_a_followed_submission_is_shown(self):
        with support.server() as server:
            server.worker("--allow-exec")
            with Terminal("submit", "muster.exec", f'["sh", "-c", "{self.half}"]', "--follow",
                          "--url", server.url) as shown:
                shown.until(lambda text: "  half\x1b[K" in text, "an unfinished line behind the bar")
                self.go()
                shown.until(lambda text: "half done\r\n" in text, "the whole line")
                self.assertNotIn("half\r\n", shown.text)
                self.assertEqual(shown.process.wait(support.DEADLINE), 0)

    def test_unfinished_lines_of_two_closures_are_shown(self):
        calls = "".join('[["sh", "-c", "printf %s; while [ ! -e %s/go ]; do sleep 0.05; done"]]\n'
                        % (name, self.folder) for name in ("one", "two"))
        with support.server() as server:
            server.worker("--allow-exec", "--slots", "2")
            job = server.run("submit", "muster.exec", "--map", "-", "--no-wait", input=calls).stdout
            with Terminal("logs", job.strip(), "--follow", "--url", server.url) as shown:
                first = lambda text: "one" + END in text and "two" + END in text
                shown.until(first, "both unfinished lines")
                self.assertNotIn("\x1b[K", shown.text, "neither replaces the other")
                self.go()
                shown.until(lambda text: "one\r\n" in text and "two\r\n" in text, "whole lines")


support.main()
