"""Blobs on the server: values of up to 1 GiB, named by their SHA-256 and transferred over gRPC. Thread-safe."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Sequence

import grpc

from muster._wire import columns, messages
from muster._wire.columns import Data

METHOD = "/muster.v1.BlobService/"
PIECE = 1 << 20
ASKED_AT_ONCE = 1000
RETRY_WITHIN = 60.0
"""Seconds for which calls are retried while the server cannot be reached. Equal to the default grace period of a
session.
"""
CHANNEL_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
                   ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 1000),
                   ("grpc.max_reconnect_backoff_ms", 1000)]
"""Channel options that allow reconnecting to a restarted server within a second."""
_MAY_PASS = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED,
             grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


def is_transient(error: Exception) -> bool:
    """Returns whether a call failed because the connection broke, in which case a retry may succeed."""
    return isinstance(error, EOFError) or (isinstance(error, grpc.RpcError) and error.code() in _MAY_PASS)


def reason_of(error: Exception) -> str:
    """Returns the error message of the server or of gRPC."""
    if isinstance(error, grpc.RpcError):
        return error.details() or str(error.code().name)
    return str(error)


def has(channel: Any, hashes: Sequence[bytes], timeout: float) -> tuple[list[bool], int]:
    """Returns which blobs the server has, and the maximum size of a blob. The size is 0 if the server does not support
    blobs.

    The server keeps its existing blobs for another ten minutes. Raises grpc.RpcError.
    """
    ask = channel.unary_unary(METHOD + "Has", messages.HasBlobs.SerializeToString,
                              messages.BlobsThere.FromString)
    try:
        answer = ask(messages.HasBlobs(sha256=hashes), timeout=timeout)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNIMPLEMENTED:
            return [False] * len(hashes), 0
        raise
    return list(answer.there), answer.blob_bytes_max


PUT_WITHIN = 600.0
"""Time limit of an upload in seconds."""


def put(channel: Any, digest: bytes, size: int, pieces: Iterable[Data], name: bytes = b"", holder: int = 0) -> None:
    """Uploads a blob under its hash, or as the value `name` of the process `holder`. Returns when the blob is stored.
    Raises grpc.RpcError.
    """
    done = False

    def requests() -> Iterator[bytes]:
        yield messages.PutBlob(sha256=digest, size=size, name=name, holder=holder).SerializeToString()
        for piece in pieces:
            if done:
                return
            yield columns.serialize(messages.PutBlob(), "data", piece)

    call = channel.stream_stream(METHOD + "Put", None, messages.BlobThere.FromString)(requests(), timeout=PUT_WITHIN)
    for _ in call:
        done = True


def pieces_of(parts: Iterable[Data]) -> Iterator[memoryview]:
    for part in parts:
        view = memoryview(part).cast("B")
        for at in range(0, len(view), PIECE):
            yield view[at:at + PIECE]


def get(channel: Any, digest: bytes, begin: Callable[[int], None],
        take: Callable[[Data], None]) -> None:
    """Downloads a blob: calls `begin` with the blob's size, then `take` with each chunk.

    Raises grpc.RpcError, EOFError if the blob was truncated, and the exceptions of `begin` and `take`.
    """
    asked = messages.GetBlob(sha256=digest).SerializeToString()
    call = channel.stream_stream(METHOD + "Get", None, None)(iter([asked]))
    left = -1
    try:
        for raw in call:
            piece, data = columns.parse(messages.BlobPiece, raw, "data")
            if left < 0:
                left = piece.size
                begin(left)
            # The field is not repeated: a small message contains it; the parser moves a large field
            # into a list.
            whole = data if isinstance(data, (bytes, memoryview)) else b"".join(data)
            take(whole)
            left -= len(whole)
            if left <= 0:
                break
    finally:
        call.cancel()
    if left != 0:
        raise EOFError(f"blob {digest.hex()} is incomplete")


def hold(channel: Any, requests: Iterator[Any]) -> Any:
    """Opens the stream of a process that holds values. Returns the responses of the stream."""
    return channel.stream_stream(METHOD + "Hold", messages.HoldRequest.SerializeToString,
                                 messages.HoldResponse.FromString)(requests)


def locate(channel: Any, names: Sequence[bytes], timeout: float, peers: bool = False, host: str = "") -> Sequence[Any]:
    """Returns the location of each value. If `peers` is set, a location includes tickets for holders on hosts other
    than `host`. Raises grpc.RpcError.
    """
    ask = channel.unary_unary(METHOD + "Locate", messages.LocateRequest.SerializeToString,
                              messages.LocateResponse.FromString)
    return ask(messages.LocateRequest(name=names, peers=peers, host=host), timeout=timeout).place  # type: ignore[no-any-return]
