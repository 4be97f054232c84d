"""Rendezvous of torchrun at a Muster server: ``torchrun --rdzv-backend=muster --rdzv-endpoint=HOST:8477 --rdzv-
id=JOB``.

The agents of torchrun agree on rounds at the server, and their workers use its torch.distributed store. Only a call of
the handler imports torch.
"""
from __future__ import annotations

from typing import Any, Callable


def handlers() -> Callable[[Any], Any]:
    """Returns the class that creates a handler from ``RendezvousParameters``. Entry point ``torchrun.handlers``."""
    from muster.torchrun.handler import MusterRendezvous

    return MusterRendezvous
