"""Values that go from one host to another, from the process that holds them and without the server's help.

Who needs one is given a ticket by the server, and so is who holds it; the ticket is shown first, once, and no
token ever goes this way. Where the server speaks TLS it also makes the certificate that the holder shows, and tells who
has the ticket that this and no other is to be trusted.

Over TCP: 32 bytes of ticket, 32 of name; the answer is the size as 8 bytes (little endian) and the bytes. Whoever is
not served is hung up on, and has it from the server. Never imports grpc.
"""
from __future__ import annotations

import collections
import contextlib
import fcntl
import os
import select
import socket
import ssl
import struct
import threading
import time
from typing import Callable

from muster._shared import memory
from muster._shared.giving import NAME
from muster._tls import load_certificate

TICKET = 32
TICKETS_MAX = 10_000
"""That were not brought yet. More: the oldest go."""
TICKET_AGE = 60.0
TICKET_COMES_WITHIN = 1.0
"""Seconds for the server's word of a ticket that somebody has brought."""
SERVED_AT_ONCE = 32
"""Processes that are given something, each by a thread. Others are hung up on."""
HELLO_WITHIN = 5.0
"""Seconds for TLS and the ticket in all."""
RATE_MIN = 1 << 20
"""Bytes a second that whoever takes has at least, after the first ten seconds."""
STALL = 2.0
"""Seconds without a byte, after which who gives gives up."""
TAKER_STALL = 1.25
"""Seconds until it is connected, until it has the first byte, and without a byte, after which who takes gives up."""
PACE_AFTER = 1.25
"""Seconds of a value after which its pace is looked at: it comes from the server where that is faster."""
SERVER_RATE = 200e6
"""Bytes a second that come by the server, for as long as nothing of RATED bytes has come that way."""
RATED = 1 << 20
AVOIDED_FOR = 30.0
AVOIDED_MAX = 1000
_SIZE = struct.Struct("<Q")
_NOTHING_IS_SENT_LATER = struct.pack("ii", 1, 0)
_PIECE = 1 << 20
_BUFFER = 64 << 10
_SET_PIPE_SIZE = 1031


def taken_within(size: int) -> float:
    """Seconds after which whoever takes so many bytes has given up."""
    return 10 + size / RATE_MIN


class NotServed(OSError):
    """It cannot be taken there: have it from the server."""


def listen_address(listen: str, server: str) -> tuple[str, int]:
    """Where to listen. `listen`: "host", "host:port" or "" for the interface by which `server` is reached.
    Raises OSError, ValueError."""
    if listen:
        return split(listen)
    host, port = split(server)
    family, _, _, _, address = socket.getaddrinfo(host, port or 1, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(address)  # sends nothing
        return probe.getsockname()[0], 0


def is_any(host: str) -> bool:
    """It stands for all interfaces of a machine, which others cannot dial."""
    return host in ("0.0.0.0", "::")


def split(text: str) -> tuple[str, int]:
    """Host and port of "host:port", "[::1]:port" or "host", port 0. Raises ValueError."""
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


def joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class PeerGiver:
    """Listens from the start, in a thread of its own, and serves each connection in another. Any thread."""

    def __init__(self, opened: Callable[[bytes], int], address: tuple[str, int], advertise: str = "") -> None:
        """`opened`: a descriptor of what is held; KeyError: it is not. `advertise`: what others are told, "host" or
        "host:port". Raises OSError: the address cannot be listened at."""
        self._opened = opened
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._listening = socket.create_server(address, family=family, backlog=SERVED_AT_ONCE)
        host, port = self._listening.getsockname()[:2]
        told, told_port = split(advertise) if advertise else (host, port)
        self.address = joined(told, told_port or port)
        self._changed = threading.Condition()  # protects all below
        self._tickets: collections.OrderedDict[bytes, tuple[bytes, float]] = collections.OrderedDict()
        self._context: ssl.SSLContext | None = None
        self._serving: set[socket.socket] = set()
        self._closed = False
        threading.Thread(target=self._accept, name="muster-peers", daemon=True).start()

    def use_certificate(self, certificate: str, key: str) -> None:
        """PEM; empty: plaintext is spoken."""
        context = None
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            load_certificate(context, (certificate + key).encode())
        with self._changed:
            self._context = context

    def expect(self, ticket: bytes, name: bytes) -> None:
        """Somebody will bring it."""
        now = time.monotonic()
        with self._changed:
            self._tickets[ticket] = (name, now + TICKET_AGE)
            while self._tickets and (len(self._tickets) > TICKETS_MAX or next(iter(self._tickets.values()))[1] < now):
                self._tickets.popitem(last=False)
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            serving = list(self._serving)
            self._changed.notify_all()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for sock in serving:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listening.accept()
            except OSError:
                with self._changed:
                    if self._closed:
                        return
                time.sleep(0.1)  # too many descriptors
                continue
            with self._changed:
                full = self._closed or len(self._serving) >= SERVED_AT_ONCE
                if not full:
                    self._serving.add(sock)
            if full:
                sock.close()
            else:
                threading.Thread(target=self._serve, args=(sock,), name="muster-peer", daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            sock.settimeout(STALL)
            with self._changed:
                context = self._context
            over = sock if context is None else context.wrap_socket(sock, server_side=True)
            try:
                self._give(over)
            finally:
                over.close()
        except (OSError, KeyError, EOFError):
            pass  # whoever came has it from the server
        finally:
            sock.close()
            with self._changed:
                self._serving.discard(sock)

    def _give(self, to: socket.socket) -> None:
        said = bytearray(TICKET + NAME)
        _receive(to, memoryview(said), time.monotonic() + HELLO_WITHIN)
        name = bytes(said[TICKET:])
        if not self._is_expected(bytes(said[:TICKET]), name):
            return
        fd = self._opened(name)
        with os.fdopen(fd, "rb", buffering=0) as file:
            size = memory.size_of(fd)
            to.sendall(_SIZE.pack(size))
            if isinstance(to, ssl.SSLSocket):
                view = memory.mapped(fd)
                for at in range(0, len(view), _PIECE):
                    to.sendall(view[at:at + _PIECE])
            else:
                # What was not taken yet is the memory itself, which its maker writes to again once nobody has it.
                to.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOTHING_IS_SENT_LATER)
                to.sendfile(file, 0, size)  # each wait for room has the timeout of the socket
                to.settimeout(taken_within(size))
                to.recv(1)  # the other end has all, and hangs up

    def _is_expected(self, ticket: bytes, name: bytes) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or ticket in self._tickets, TICKET_COMES_WITHIN)
            expected, until = self._tickets.pop(ticket, (b"", 0.0))
        return expected == name and time.monotonic() < until


class _Pace:
    """Of a value that is coming. Raises TimeoutError when the server is faster, or it stands still."""

    def __init__(self, sock: socket.socket, size: int, server_rate: float) -> None:
        self._sock = sock
        self._began = time.monotonic()
        self._size = size
        self._left = size
        self._by_server = size / server_rate

    def wait(self) -> None:
        """Until more is there, or the end."""
        self.look(0)
        ready = select.poll()
        ready.register(self._sock, select.POLLIN)
        if not ready.poll(TAKER_STALL * 1000):
            raise TimeoutError("timed out")

    def look(self, got: int) -> None:
        """So much more has come."""
        self._left -= got
        past = time.monotonic() - self._began
        if past > PACE_AFTER and past * self._left > self._by_server * (self._size - self._left):
            raise TimeoutError(f"{self._size - self._left} of {self._size} bytes in {past:.1f} s: the server is faster")


class PeerTaker:
    """Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects all below
        self._avoided: dict[str, float] = {}
        self._server_rate = SERVER_RATE

    def by_server(self, size: int, seconds: float) -> None:
        """So long it took for a value to come by the server."""
        if size >= RATED:
            with self._lock:
                self._server_rate = size / max(seconds, 1e-3)

    def take(self, peer: str, ticket: bytes, name: bytes, size: int, certificate: str) -> int:
        """A sealed descriptor of its bytes, the caller's own. Raises NotServed."""
        with self._lock:
            if self._avoided.get(peer, 0.0) > time.monotonic():
                raise NotServed(f"{peer} was not reached a moment ago")
        try:
            sock = socket.create_connection(split(peer), timeout=TAKER_STALL)
        except (OSError, ValueError) as error:
            self._avoid(peer)
            raise NotServed(f"{peer} is not reached: {error}") from error
        with sock:
            try:
                return self._receive(sock, ticket, name, size, certificate)
            except (OSError, EOFError) as error:
                self._avoid(peer)
                raise NotServed(f"{name.hex()} is not had from {peer}: {error}") from error

    def _receive(self, sock: socket.socket, ticket: bytes, name: bytes, size: int, certificate: str) -> int:
        by = time.monotonic() + TAKER_STALL
        over = sock if not certificate else _trusting(certificate).wrap_socket(sock, server_hostname="muster")
        with over:
            over.sendall(ticket + name)
            head = bytearray(_SIZE.size)
            _receive(over, memoryview(head), by)
            if _SIZE.unpack(head)[0] != size:
                raise OSError(f"it has {_SIZE.unpack(head)[0]} bytes, not {size}")
            pace = _Pace(over, size, self._server_rate)
            return memory.filled(name, lambda fd: _receive_file(over, fd, size, pace))

    def _avoid(self, peer: str) -> None:
        with self._lock:
            if len(self._avoided) >= AVOIDED_MAX:
                self._avoided.clear()
            self._avoided[peer] = time.monotonic() + AVOIDED_FOR


def _trusting(certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=certificate)
    return context


def _receive_file(sock: socket.socket, fd: int, size: int, pace: _Pace) -> None:
    """So many bytes to the file. Raises EOFError, OSError."""
    if isinstance(sock, ssl.SSLSocket) or not hasattr(os, "splice"):
        buffer = memoryview(bytearray(_BUFFER))
        while size:
            got = sock.recv_into(buffer, min(size, _BUFFER))
            if not got:
                raise EOFError("the other end has hung up")
            pace.look(got)
            size -= got
            memory.write(fd, [buffer[:got]])
        return
    out, into = os.pipe()  # the kernel moves pages through it, and copies them once
    try:
        with contextlib.suppress(OSError):
            fcntl.fcntl(into, _SET_PIPE_SIZE, _PIECE)
        while size:
            pace.wait()
            got = os.splice(sock.fileno(), into, min(size, _PIECE))
            if not got:
                raise EOFError("the other end has hung up")
            pace.look(got)
            size -= got
            while got:
                got -= os.splice(out, fd, got)
    finally:
        os.close(out)
        os.close(into)


def _receive(sock: socket.socket, into: memoryview, end: float) -> None:
    """All of it. Raises EOFError, OSError, as when it is not here by `end`."""
    while len(into):
        if time.monotonic() > end:
            raise TimeoutError("timed out")
        got = sock.recv_into(into, min(len(into), _PIECE))
        if not got:
            raise EOFError("the other end has hung up")
        into = into[got:]
