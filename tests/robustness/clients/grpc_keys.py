"""Clients of keys that call the coordination service with plain gRPC, and read the same keys over REST."""
from __future__ import annotations

import os
import random
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import grpc

from clients.base import Client, Refused, stopping
from muster._wire.messages import named
from recorder import now

LIMIT = 15.0


class GrpcKeys(Client):
    """Several channels, each with one operation at a time."""

    channels = 3

    def run(self) -> None:
        threads = [threading.Thread(target=self._use, args=(f"{self.name}/{n}", n)) for n in range(self.channels)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _use(self, name: str, turn: int) -> None:
        source = random.Random(f"{name} {self.config['seed']}")
        while not stopping.requested:
            server = turn % len(self.config["grpc"])
            with grpc.insecure_channel(self.config["grpc"][server]) as channel:
                try:
                    # A read without an answer has no effect. It precedes the writes, so few writes are unknown.
                    self._get(channel, "ready")
                    while not stopping.requested:
                        self._operate(name, channel, self.config["http"][server], source)
                        time.sleep(0.005)
                except Refused:
                    pass
                except (grpc.RpcError, OSError):
                    turn += 1
            time.sleep(0.05)

    def _operate(self, name: str, channel: grpc.Channel, http: str, source: random.Random) -> None:
        window = now() // 2_000_000_000
        key = f"grpc/{self.config['seed']}/{window}-{source.randrange(6)}"
        counter = f"grpc/{self.config['seed']}/{window}-count-{source.randrange(2)}"
        value, kind = f"{name}.{now()}", source.randrange(10)
        if kind < 2:
            self.operation(name, "get", key, lambda: self._get(channel, key))
        elif kind < 4:
            self.operation(name, "get", key, lambda: self._get_over_rest(http, key))
        elif kind < 6:
            self.operation(name, "put", key, lambda: self._put(channel, key, value), arg=value)
        elif kind == 6:
            self.operation(name, "insert", key, lambda: self._insert(channel, key, value), arg=value)
        elif kind == 7:
            self.operation(name, "remove", key, lambda: self._remove(channel, key))
        else:
            number = source.choice([1, 1, 5, -2])
            self.operation(name, "increment", counter, lambda: self._increment(channel, counter, number),
                           arg=str(number))

    def _call(self, channel: grpc.Channel, method: str, **fields: Any) -> Any:
        request, response = named(f"tensorflow.{method}Request"), named(f"tensorflow.{method}Response")
        call = channel.unary_unary(f"/tensorflow.CoordinationService/{method}", request.SerializeToString,
                                   response.FromString)
        try:
            return call(request(**fields), timeout=LIMIT)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise Refused from error
            raise

    def _get(self, channel: grpc.Channel, key: str) -> str:
        try:
            value: str = self._call(channel, "TryGetKeyValue", key=key).kv.value.decode()
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND:
                raise
            return ""
        return value

    def _get_over_rest(self, http: str, key: str) -> str:
        url = f"{http}/api/v1/clusters/default/kv/{urllib.parse.quote(key)}"
        try:
            request = urllib.request.Request(url, headers={"Authorization": f"Bearer {os.environ['MUSTER_TOKEN']}"})
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                value: str = answer.read().decode()
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return ""
        return value

    def _put(self, channel: grpc.Channel, key: str, value: str) -> None:
        self._call(channel, "InsertKeyValue", kv={"key": key, "value": value.encode()}, allow_overwrite=True)

    def _insert(self, channel: grpc.Channel, key: str, value: str) -> str:
        try:
            self._call(channel, "InsertKeyValue", kv={"key": key, "value": value.encode()})
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.ALREADY_EXISTS:
                raise
            return "exists"
        return "inserted"

    def _remove(self, channel: grpc.Channel, key: str) -> None:
        """Deletes a key. The answer does not say whether the key existed."""
        self._call(channel, "DeleteKeyValue", key=key)

    def _increment(self, channel: grpc.Channel, key: str, number: int) -> str:
        value: str = self._call(channel, "IncrementKeyValue", key=key, increment=number).kv.value.decode()
        return value
