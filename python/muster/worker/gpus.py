"""Which GPUs a worker may use."""
from __future__ import annotations

import os
import re
import subprocess

NVIDIA_SMI_TIMEOUT = 10.0
"""Seconds; a driver that hangs is one without GPUs."""
DRIVER = "/proc/driver/nvidia/gpus"


def visible() -> list[str]:
    """What CUDA_VISIBLE_DEVICES names; where it is not set, the numbers of all that are there: those
    that ``nvidia-smi -L`` lists, else the driver. Nothing: there are none."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return _named(named)
    return _of_nvidia_smi() or _of_driver()


def _named(text: str) -> list[str]:
    """As CUDA reads it: the first that cannot be ends the list."""
    found = []
    for one in text.split(","):
        if not one.strip() or one.strip().startswith("-"):
            break
        found.append(one.strip())
    return found


def _of_nvidia_smi() -> list[str]:
    try:
        made = subprocess.run(["nvidia-smi", "-L"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=NVIDIA_SMI_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^GPU (\d+):", made.stdout, re.MULTILINE) if made.returncode == 0 else []


def _of_driver() -> list[str]:
    """Containers see the driver's list of all GPUs, but only their own as devices."""
    try:
        count = len(os.listdir(DRIVER))
    except OSError:
        return []
    return [str(i) for i in range(count) if os.path.exists(f"/dev/nvidia{i}")]
