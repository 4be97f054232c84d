"""A server in this process that implements `Hold`, `Locate` and `Put`, and sends the messages that a test asks for."""
from __future__ import annotations

import concurrent.futures
import queue
import threading
from typing import Any, Iterator

import grpc

from muster._wire import messages

OPTIONS = [("grpc.max_receive_message_length", -1)]


class HolderServer:
    def __init__(self, knows: bool = True) -> None:
        self.knows = knows
        self.outputs_stay = True
        self.blob_bytes_max = 0
        self.refuses: set[bytes] = set()
        self.streams: list[queue.SimpleQueue[Any | None]] = []
        self.lock = threading.Lock()  # protects all attributes below
        self.places: dict[bytes, tuple[str, int]] = {}
        self.holders: dict[bytes, list[dict[str, Any]]] = {}
        """By name: the holders that the server returns; see `BlobHolder`. A holder with a `host` is returned only to requests of this
        host and to requests without a host."""
        self.unlists: set[bytes] = set()
        self.held: dict[bytes, int] = {}
        self.copies: set[bytes] = set()
        """The names in `held` that are copies."""
        self.located: list[Any] = []
        self.announced: list[bytes] = []
        self.first: list[Any] = []
        self.shared_bytes = 0
        self.puts: list[tuple[Any, bytes]] = []
        self.asked = 0
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers((self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        if name == "Hold":
            self.asked += 1
            if not self.knows:
                return None
            return grpc.stream_stream_rpc_method_handler(
                self._hold, messages.HoldRequest.FromString, messages.HoldResponse.SerializeToString)
        if name == "Locate":
            return grpc.unary_unary_rpc_method_handler(
                self._locate, messages.LocateRequest.FromString, messages.LocateResponse.SerializeToString)
        if name == "Put":
            return grpc.stream_stream_rpc_method_handler(
                self._put, messages.PutBlob.FromString, messages.BlobThere.SerializeToString)
        return None

    def say(self, **words: Any) -> None:
        """Sends a message on the newest stream."""
        self.streams[-1].put(messages.HoldResponse(**words))

    def hang_up(self) -> None:
        self.streams[-1].put(None)

    def close(self) -> None:
        self._server.stop(0).wait()

    def _hold(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        said: queue.SimpleQueue[Any | None] = queue.SimpleQueue()
        with self.lock:
            self.held.clear()
            self.copies.clear()
            self.first.append(next(requests))
        said.put(messages.HoldResponse(holder=len(self.first), outputs_stay=self.outputs_stay,
                                       blob_bytes_max=self.blob_bytes_max))
        self.streams.append(said)
        threading.Thread(target=self._read, args=(requests, said), daemon=True).start()
        while (message := said.get()) is not None:
            yield message

    def _read(self, requests: Iterator[Any], said: queue.SimpleQueue[Any | None]) -> None:
        try:
            for message in requests:
                with self.lock:
                    self.shared_bytes += message.shared_bytes
                    self.announced += message.held
                    for name, size, copy in zip(message.held, message.size, message.copy):
                        if name in self.refuses:
                            said.put(messages.HoldResponse(refused=[name]))
                        elif copy and name in self.unlists:
                            said.put(messages.HoldResponse(unlisted=[name]))
                        else:
                            self.held[name] = size
                            if copy:
                                self.copies.add(name)
                    for name in message.dropped:
                        self.held.pop(name, None)
                        self.copies.discard(name)
        except grpc.RpcError:
            pass
        said.put(None)

    def _locate(self, request: Any, context: Any) -> Any:
        answer = messages.LocateResponse()
        with self.lock:
            self.located.append(request)
        for name in request.name:
            socket, size = self.places.get(name, ("", 0))
            told = answer.place.add(unix_socket=socket, size=size, may_copy=name in self.holders)
            for holder in self.holders.get(name, []):
                there = dict(holder)
                if there.pop("host", "") in ("", request.host) or not request.host:
                    told.holder.add(**there)
        return answer

    def _put(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        first = next(requests)
        data = b"".join(message.data for message in requests)
        with self.lock:
            self.puts.append((first, data))
        yield messages.BlobThere()
