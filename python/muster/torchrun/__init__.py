"""``torchrun --rdzv-backend=muster --rdzv-endpoint=HOST:8477 --rdzv-id=JOB``: agents of torchrun meet at a Muster
server, and their workers in its store of torch.distributed. torch is imported by whoever asks for the handler."""
from __future__ import annotations

from typing import Any, Callable


def handlers() -> Callable[[Any], Any]:
    """The entry point ``torchrun.handlers``: what makes a handler of ``RendezvousParameters``."""
    from muster.torchrun.handler import MusterRendezvous

    return MusterRendezvous
