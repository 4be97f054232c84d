"""Clients of the store of torch.distributed, in the wire format of torch 2.5 and later."""
from __future__ import annotations

import os
import random
import socket
import struct
import threading
import time

from clients.base import Client, stopping
from recorder import now

VALIDATE, SET, COMPARE_SET, GET, ADD, CHECK, WAIT, DELETE, CANCEL_WAIT, PING = 0, 1, 2, 3, 4, 5, 6, 8, 12, 13
MAGIC = 0x3C85F7CE
ANSWER_LIMIT = 30.0
"""Seconds after which a command without an answer is unknown. Longer than every pause of a server."""


class Connection:
    """One connection to a store. The protocol has no errors: a server refuses a command by closing the connection."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=5.0)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(ANSWER_LIMIT)
        self._send(VALIDATE, struct.pack("<I", MAGIC))
        self.ping()

    def close(self) -> None:
        self.socket.close()

    def ping(self) -> None:
        self._send(PING, struct.pack("<I", os.getpid()))
        if (answer := self._number("<I")) != os.getpid():
            raise ValueError(f"PING was answered with {answer}")

    def set(self, key: str, value: str) -> None:
        """Writes a key. SET has no answer, so a PING after it shows that the server executed it."""
        self._send(SET, self._text(key), self._text(value))
        self.ping()

    def compare_set(self, key: str, expected: str, desired: str) -> str:
        self._send(COMPARE_SET, self._text(key), self._text(expected), self._text(desired))
        return self._string()

    def get(self, key: str) -> str:
        """Returns the value of a key, and an empty text if the key is missing."""
        self._send(GET, self._text(key))
        return self._string()

    def add(self, key: str, number: int) -> int:
        self._send(ADD, self._text(key), struct.pack("<q", number))
        return self._number("<q")

    def check(self, key: str) -> bool:
        self._send(CHECK, struct.pack("<Q", 1), self._text(key))
        return self._number("<B") == 0

    def delete(self, key: str) -> bool:
        self._send(DELETE, self._text(key))
        return self._number("<q") == 1

    def begin_wait(self, key: str) -> None:
        self._send(WAIT, struct.pack("<Q", 1), self._text(key))

    def is_released(self, seconds: float) -> bool:
        """Returns whether the answer of a wait arrived within a time."""
        self.socket.settimeout(seconds)
        try:
            return self._number("<B") == 0
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(ANSWER_LIMIT)

    def cancel_wait(self) -> bool:
        """Ends a wait. Returns whether the server had released it before."""
        self._send(CANCEL_WAIT)
        if self._number("<B") == 1:
            return False
        self._number("<B")
        return True

    def _text(self, text: str) -> bytes:
        data = text.encode()
        return struct.pack("<Q", len(data)) + data

    def _send(self, command: int, *parts: bytes) -> None:
        self.socket.sendall(bytes([command]) + b"".join(parts))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError("the server closed the connection")
            data += more
        return data

    def _number(self, form: str) -> int:
        number: int = struct.unpack(form, self._read(struct.calcsize(form)))[0]
        return number

    def _string(self) -> str:
        return self._read(self._number("<Q")).decode()


class TorchStore(Client):
    """Several connections that use the same keys. A server that starts again has an empty store, so the name of a key
    contains the identity of the key space, which the first client of the key space writes."""

    connections = 3

    def run(self) -> None:
        threads = [threading.Thread(target=self._use, args=(f"{self.name}/{n}",)) for n in range(self.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _use(self, name: str) -> None:
        source, turn = random.Random(f"{name} {self.config['seed']}"), 0
        while not stopping.requested:
            try:
                connection = Connection(self.config["torch"][turn % len(self.config["torch"])])
            except OSError:  # this server is a standby or is not there
                turn += 1
                time.sleep(0.05)
                continue
            try:
                space = connection.compare_set("space", "", f"{name}.{now()}")
                while not stopping.requested:
                    self._operate(name, space, connection, source)
                    time.sleep(0.005)
            except OSError:
                turn += 1
            finally:
                connection.close()

    def _operate(self, name: str, space: str, c: Connection, source: random.Random) -> None:
        window = now() // 2_000_000_000
        key = f"torch/{space}/{window}-{source.randrange(6)}"
        counter = f"torch/{space}/{window}-count-{source.randrange(2)}"
        value = source.choice([f"{name}.{now()}", str(source.randrange(4))])
        kind = source.randrange(10)
        if kind < 2:
            self.operation(name, "put", key, lambda: c.set(key, value), arg=value)
        elif kind < 4:
            self.operation(name, "get", key, lambda: c.get(key))
        elif kind == 4:
            expected, desired = source.choice(["", "0", "1", "2", "3"]), str(source.randrange(4))
            self.operation(name, "compare_set", key, lambda: c.compare_set(key, expected, desired),
                           arg=desired, expected=expected)
        elif kind == 5:
            self.operation(name, "delete", key, lambda: "deleted" if c.delete(key) else "missing")
        elif kind == 6:
            self.operation(name, "check", key, lambda: "present" if c.check(key) else "missing")
        elif kind < 9:
            number = source.choice([1, 1, 5, -2])
            self.operation(name, "increment", counter, lambda: str(c.add(counter, number)), arg=str(number))
        else:
            self._wait(name, key, c, source.uniform(0.0, 0.3))

    def _wait(self, name: str, key: str, c: Connection, seconds: float) -> None:
        """Waits for a key. A wait that is cancelled before its release shows that the key was missing just then."""
        begun = now()
        c.begin_wait(key)
        if not c.is_released(seconds):
            cancelled = now()
            if not c.cancel_wait():
                self.history.write(client=name, key=key, op="check", outcome="ok", value="missing", call=cancelled,
                                   **{"return": now()})
                return
        self.history.write(client=name, key=key, op="check", outcome="ok", value="present", call=begun,
                           **{"return": now()})
