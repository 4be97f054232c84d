"""Finds the GPUs that a worker may use."""
from __future__ import annotations

import os
import re
import subprocess

NVIDIA_SMI_TIMEOUT = 10.0
"""Time limit in seconds. If the driver does not answer in time, the worker uses no GPUs."""
DRIVER = "/proc/driver/nvidia/gpus"


def visible() -> list[str]:
    """Returns the GPUs in CUDA_VISIBLE_DEVICES. If this variable is not set, returns the numbers of all GPUs that
    ``nvidia-smi -L`` lists. If this command fails, returns the GPUs that the driver lists. The result may be empty.
    """
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return _named(named)
    return _of_nvidia_smi() or _of_driver()


def _named(text: str) -> list[str]:
    """Parses the list in the same way as CUDA, which stops at the first invalid entry."""
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
    """Returns the driver's GPUs that exist as devices. In a container, the driver lists all GPUs, but only the
    container's own devices exist.
    """
    try:
        count = len(os.listdir(DRIVER))
    except OSError:
        return []
    return [str(i) for i in range(count) if os.path.exists(f"/dev/nvidia{i}")]
