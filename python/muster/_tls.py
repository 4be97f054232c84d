"""TLS settings of clients. Each connection reads the PEM files again."""
from __future__ import annotations

import dataclasses
import os
import ssl
from typing import Any, Sequence

from muster._bounded_file import read_bounded_file

KEEPALIVE = [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 10_000),
             ("grpc.http2.ping_timeout_ms", 10_000), ("grpc.http2.max_pings_without_data", 0)]
"""Options of every channel. Without these options, a waiting call never detects a server that was lost without closing
the connection, for example in a network partition. C++ clients use the same options. gRPC sends one ping at a time.
While it waits for a ping that measures the bandwidth, `ping_timeout_ms` applies (default: a minute) instead of the
timeout of keepalive.
"""


@dataclasses.dataclass(frozen=True)
class Tls:
    """PEM files for TLS. If no file is set, gRPC connections are not encrypted, and https:// connections use the
    system's CA certificates.
    """

    ca: str = ""
    cert: str = ""
    key: str = ""

    @classmethod
    def of(cls, ca: str | None, cert: str | None, key: str | None) -> Tls:
        """Returns the TLS settings for these files. An argument of None is replaced by the path in MUSTER_CA,
        MUSTER_CERT or MUSTER_KEY.

        Raises:
            ValueError: A file cannot be read or used, or only one of `cert` and `key` is set. The message contains the
                path of the file.
        """
        from_environment = os.environ.get
        tls = cls(from_environment("MUSTER_CA", "") if ca is None else ca,
                  from_environment("MUSTER_CERT", "") if cert is None else cert,
                  from_environment("MUSTER_KEY", "") if key is None else key)
        if bool(tls.cert) != bool(tls.key):
            raise ValueError("cert, key: pass both the certificate and its key")
        texts: dict[str, bytes] = {}
        for name, path in (("ca", tls.ca), ("cert", tls.cert), ("key", tls.key)):
            try:
                texts[name] = read_bounded_file(path) if path else b""
            except OSError as error:
                raise ValueError(f"{name}: {error}") from error
            if path and b"-----BEGIN " not in texts[name]:
                raise ValueError(f"{name}: {path} is not in PEM form")
        if tls != cls():
            tls._check(texts)
        return tls

    def _check(self, texts: dict[str, bytes]) -> None:
        """Raises ValueError if gRPC cannot use one of the files. Without this check, gRPC would log an error and retry
        forever.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            if self.ca:
                context.load_verify_locations(cadata=texts["ca"].decode("ascii", "ignore"))
        except ssl.SSLError as error:
            raise ValueError(f"ca: {self.ca} contains no valid certificate: {error}") from error
        try:
            if self.cert:
                load_certificate(context, texts["cert"] + b"\n" + texts["key"])
        except ssl.SSLError as error:
            raise ValueError(f"cert, key: {self.cert} and {self.key} are not a certificate and its private key: "
                             f"{error}") from error

    def channel(self, server: str, options: Sequence[tuple[str, Any]]) -> Any:
        import grpc  # imported here, because REST clients do not need grpc

        options = [*KEEPALIVE, *options]
        if self == Tls():
            return grpc.insecure_channel(server, options)
        credentials = grpc.ssl_channel_credentials(
            *(read_bounded_file(path) if path else None for path in (self.ca, self.key, self.cert)))
        return grpc.secure_channel(server, credentials, options)

    def context(self) -> ssl.SSLContext:
        files = [path for path in (self.ca, self.cert, self.key) if path]
        if all(map(os.path.isfile, files)):
            context = ssl.create_default_context(cafile=self.ca or None)
            if self.cert:
                context.load_cert_chain(self.cert, self.key)
            return context
        # A pipe was already read when the options were checked, and cannot be read again.
        authorities = read_bounded_file(self.ca).decode("ascii", "ignore") if self.ca else None
        if self.ca and not authorities:  # an empty string would select the system's CA certificates
            raise ValueError(f"ca: {self.ca} is empty")
        context = ssl.create_default_context(cadata=authorities)
        if self.cert:
            load_certificate(context, read_bounded_file(self.cert) + b"\n" + read_bounded_file(self.key))
        return context


def load_certificate(context: ssl.SSLContext, pem: bytes) -> None:
    """Loads a certificate and its key into a context. Uses an in-memory file, because the ssl module can load
    certificates only from files.
    """
    fd = os.memfd_create("muster-certificate", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(pem)
        context.load_cert_chain(f"/proc/self/fd/{fd}", password="")  # "" prevents a prompt on the terminal
    finally:
        os.close(fd)
