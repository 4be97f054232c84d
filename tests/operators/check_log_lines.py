"""Log lines have one form: those of the server, its supervisor, a worker and the proxy, as text and as JSON. Python's workers are
tested in python/tests/test_worker.py."""
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

import support

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
TEXT = re.compile(TIME + r" (debug|info |warning|error|critical) \S.*")


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return int((file.read().split() or ["0"])[0])


class LogLines(unittest.TestCase):
    def check(self, lines, wanted):
        for line in lines:
            self.assertRegex(line, TEXT)
        for part in wanted:
            self.assertTrue(any(part in line for line in lines), f"{part} in {lines}")

    def supervised(self, *words):
        """Returns the log of a server that was killed once, had a worker, and got two requests to stop."""
        with tempfile.TemporaryDirectory() as folder:
            made = support.Server(folder, "--supervise", "--data-dir", f"{folder}/data", *words)
            try:
                made.worker("--slots", "1")
                first = child_of(made.process.pid)
                os.kill(first, signal.SIGKILL)
                support.until(lambda: child_of(made.process.pid) not in (0, first), "another one")
                support.until(lambda: made.connected() == 1, "the worker is back")
            finally:
                made.stop()
            return made.log.read_text().splitlines(), (made.folder / "worker-0.log").read_text()

    def test_text_lines_have_the_log_format(self):
        server, worker = self.supervised()
        self.check(server, ["supervisor: the server was killed", "ready version=", "stopped"])
        self.check(worker.splitlines(), ["muster: "])

    def test_json_lines_have_the_log_format(self):
        server, _ = self.supervised("--log-format", "json")
        for line in server:
            told = json.loads(line)
            self.assertEqual(list(told), ["time", "level", "message"])
            self.assertRegex(told["time"], f"^{TIME}$")
            self.assertIn(told["level"], ("debug", "info", "warning", "error", "critical"))
        self.assertTrue(any("supervisor: the server was killed" in line for line in server))

    def test_proxy_lines_have_the_log_format(self):
        with tempfile.TemporaryDirectory() as folder:
            proxy = subprocess.Popen(
                [support.MUSTER, "proxy", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9",
                 "--ready-file", f"{folder}/ready"], stderr=subprocess.PIPE, text=True,
                env=support.ENVIRONMENT)
            support.until(lambda: os.path.exists(f"{folder}/ready"), "the proxy listens")
            proxy.terminate()
            _, lines = proxy.communicate(timeout=60)
            self.check(lines.splitlines(), ["listens on", "stopped"])

    def test_lines_after_a_second_signal_have_the_log_format(self):
        """A second signal arrives while the server is still stopping."""
        with tempfile.TemporaryDirectory() as folder:
            made = support.Server(folder)
            # A parked call delays the stop. Two signals at once are merged, so the second one is sent until the process has ended.
            def ended():
                if made.process.poll() is None:
                    made.process.send_signal(signal.SIGTERM)
                return made.process.poll() is not None
            support.until(ended, "it ends")
            self.check(made.log.read_text().splitlines(), ["stopping signal=SIGTERM"])


support.main()
