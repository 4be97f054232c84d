"""Clients that follow the results of a job while it runs."""
from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from typing import Any

from clients.base import CALL_TIMEOUT, RestClient, stopping
from recorder import now


class Streams(RestClient):
    """Reads results as NDJSON, in parts: after a break the next part begins behind the last line that was received."""

    closures = 40

    def run(self) -> None:
        while not stopping.requested:
            numbers = [self.random.randrange(1000) for _ in range(self.closures)]
            # Sleeps keep the stream open while faults happen.
            body = {"name": "stream", "idempotency_key": self.next_id(),
                    "closures": [{"function": "muster.echo", "args": [n]} if n % 8 else
                                 {"function": "muster.sleep", "args": [self.random.choice([20, 200])]} for n in numbers]}
            status, answer = self.ask("POST", "/api/v1/jobs", body)
            if status in (200, 201):
                self._follow(answer["id"], [n if n % 8 else None for n in numbers])
            else:
                time.sleep(0.2)

    def _follow(self, job: str, expected: list[Any]) -> None:
        parts: list[dict[str, Any]] = []
        begun, received, tries = now(), 0, 0
        end = time.monotonic() + CALL_TIMEOUT
        while received < len(expected) and time.monotonic() < end and not (parts and parts[-1]["outcome"] == "complete"):
            part = self._read(self.config["http"][tries % len(self.config["http"])], job, received)
            tries += part["outcome"] != "complete"
            if part["outcome"] != "none":
                parts.append(part)
            received += len(part["lines"])
            time.sleep(0.05)
        outcome = "ok" if received >= len(expected) or (parts and parts[-1]["outcome"] == "complete") else "unknown"
        self.history.write(kind="stream", id=job, expected=expected, parts=parts, outcome=outcome, call=begun, ret=now())

    def _read(self, url: str, job: str, first: int) -> dict[str, Any]:
        """Reads one part. Its outcome is `complete`, `broken`, `none` if no server answered, or an unexpected status."""
        part: dict[str, Any] = {"from": first, "lines": [], "outcome": "broken"}
        request = urllib.request.Request(f"{url}/api/v1/jobs/{job}/results?wait=true&from={first}",
                                         headers={"Authorization": f"Bearer {os.environ['MUSTER_TOKEN']}"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                rest = b""
                while data := answer.read1(1 << 16):
                    *lines, rest = (rest + data).split(b"\n")
                    for line in lines:
                        record = json.loads(line)
                        part["lines"].append([record["index"], record["state"], record.get("value")])
                part["outcome"] = "complete" if not rest else "ended within a line"
        except urllib.error.HTTPError as error:
            part["outcome"] = "none" if error.code in (429, 503, 504) else f"status {error.code}"
        except (OSError, http.client.HTTPException) as error:
            part["error"] = f"{type(error).__name__}: {error}"
        return part
