"""torchrun rendezvous through a Muster server:
``torchrun --rdzv-backend=muster --rdzv-endpoint=HOST:8477 --rdzv-id=JOB``.

torchrun's agents agree on rounds through the server, and torchrun's workers use the server's torch.distributed store.
torch is imported only when the handler is called.
"""
from __future__ import annotations

from typing import Any, Callable


def handlers() -> Callable[[Any], Any]:
    """Returns the class that creates a handler from ``RendezvousParameters``. Entry point ``torchrun.handlers``."""
    from muster.torchrun.handler import MusterRendezvous

    return MusterRendezvous
