"""A `muster serve` for tests, in a root or namespace of its own if the command line begins with such words."""
import json
import os
import subprocess
import time
import urllib.request

READY_SECONDS = 60


def environment():
    """Returns the environment without the settings of the user who runs the test."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


class Server:
    """`program` begins the command line. The log is in `folder`. `ready_file` is the name of the ready-file as the program sees it;
    `ready_seen` is its name as the test sees it, if different."""

    def __init__(self, program, folder, *words, ready_file=None, ready_seen=None):
        self.log = os.path.join(folder, "server.log")
        ready_file = ready_file or os.path.join(folder, "ready.json")
        self._ready = ready_seen or ready_file
        self._words = [*program, "serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
                       "--ready-file", ready_file, *words]

    def __enter__(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self._words, stderr=log, env=environment())
        until = time.monotonic() + READY_SECONDS
        while not os.path.exists(self._ready):
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise AssertionError("the server did not start: " + open(self.log).read())
            time.sleep(0.02)  # the file is complete, because it was renamed
        with open(self._ready) as file:
            addresses = json.load(file)
        self.grpc, self.url = addresses["grpc"], "http://" + addresses["http"]
        return self

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=20) as answer:
            return answer.status, answer.read()

    def stop(self):
        """Returns the exit status."""
        self.process.terminate()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def __exit__(self, *_):
        self.stop()
