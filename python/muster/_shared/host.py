"""Which processes reach each other's Unix sockets, and may: those of a kernel, a network namespace and a user."""
from __future__ import annotations

import functools
import hashlib
import os
import pathlib


@functools.lru_cache(None)
def this_host() -> str:
    """The same text for these. Empty: this system does not say."""
    try:
        kernel = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        network = os.readlink("/proc/self/ns/net")
    except OSError:
        return ""
    return hashlib.sha256(f"{kernel} {network} {os.geteuid()}".encode()).hexdigest()[:32]
