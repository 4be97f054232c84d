"""The token that is sent with every call."""
from __future__ import annotations

import collections
from typing import Any, Callable

import grpc

from muster._token import token_of

_Details = collections.namedtuple(
    "_Details", ("method", "timeout", "metadata", "credentials", "wait_for_ready", "compression"))


def with_token(channel: grpc.Channel, token: str = "") -> grpc.Channel:
    """Returns the channel with an interceptor that adds the token to each call. Returns the channel itself if there is
    no token.
    """
    token = token_of(token)
    return grpc.intercept_channel(channel, _Bearer(token)) if token else channel


class _Bearer(grpc.UnaryUnaryClientInterceptor,  # type: ignore[misc]
              grpc.StreamStreamClientInterceptor):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._pair = ("authorization", "Bearer " + token)

    def _signed(self, d: Any) -> Any:
        return _Details(d.method, d.timeout, [*(d.metadata or ()), self._pair], d.credentials,
                        getattr(d, "wait_for_ready", None), getattr(d, "compression", None))

    def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any,
                              request: Any) -> Any:
        return continuation(self._signed(details), request)

    def intercept_stream_stream(self, continuation: Callable[..., Any], details: Any,
                                requests: Any) -> Any:
        return continuation(self._signed(details), requests)
