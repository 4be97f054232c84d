"""A client that asks all servers, to see which one serves at which time."""
from __future__ import annotations

import http.client
import os
import re
import threading
import time
import urllib.request

from clients.base import Client, stopping
from recorder import now

START = re.compile(rb"^process_start_time_seconds (\S+)", re.MULTILINE)


class Leaders(Client):
    """Only the server that leads answers /metrics. The start of its process tells two processes of a server apart."""

    def run(self) -> None:
        threads = [threading.Thread(target=self._watch, args=(n, url)) for n, url in enumerate(self.config["http"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _watch(self, server: int, url: str) -> None:
        headers = {"Authorization": f"Bearer {os.environ['MUSTER_TOKEN']}"}
        while not stopping.requested:
            begun = now()
            try:
                with urllib.request.urlopen(urllib.request.Request(url + "/metrics", headers=headers), timeout=15) as answer:
                    start = START.search(answer.read())
            except (OSError, http.client.HTTPException):  # a standby answers 503
                pass
            else:
                self.history.write(kind="leader", server=server, start=start.group(1).decode() if start else "",
                                   call=begun, ret=now())
            time.sleep(0.05)
