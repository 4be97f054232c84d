"""Parses server addresses."""
from __future__ import annotations

from typing import Sequence


def checked(server: str | Sequence[str], field: str = "server") -> list[str]:
    """Returns the addresses in a string or in a list of strings. Each string contains one or more "host:port"
    addresses, separated by commas.

    Raises:
        ValueError: No address is given, or an address is invalid. The message contains `field`.
    """
    texts = [server] if isinstance(server, str) else server
    servers = [address for text in texts for address in text.split(",") if address]
    if not servers:
        raise ValueError(f"{field}: none")
    for address in servers:
        if address.startswith(("http://", "https://")):
            raise ValueError(f"{field}: {address!r} is an HTTP address; write the gRPC address as host:port, such as "
                             "'127.0.0.1:8476'")
        if ":" not in address.rpartition("]")[2]:
            raise ValueError(f"{field}: {address!r} has no port; write the gRPC address as host:port, such as "
                             f"'{address}:8476'")
        port = address.rpartition(":")[2]
        if port.isdigit() and not 1 <= int(port) <= 65535:
            raise ValueError(f"{field}: {address!r} has no port from 1 to 65535")
    return servers


def split(text: str) -> tuple[str, int]:
    """Splits "host:port" or "[::1]:port" into host and port. If the port is missing, the port is 0. Raises ValueError
    for other strings.
    """
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest[1:] if rest.startswith(":") else ""
    elif text.count(":") > 1:
        host, port = text, ""
    else:
        host, _, port = text.partition(":")
    if not host or (port and not port.isdigit()) or int(port or 0) > 65535:
        raise ValueError(f"expected HOST or HOST:PORT, not {text!r}")
    return host, int(port or 0)
