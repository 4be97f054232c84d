"""Loads CPython's own tests of executors, for an executor on the server that MUSTER_TEST_SERVER names.

They are part of the interpreter, or of Debian's package libpython3.11-testsuite. This repository has no copy.
"""
from __future__ import annotations

import importlib
import os
import pathlib
import pkgutil
import sys
from typing import Any

import cloudpickle

import muster

MODULE = "test.test_concurrent_futures"
PACKAGE = "libpython{}.{}-testsuite".format(*sys.version_info)
_DEBIAN = pathlib.Path("/usr/lib/python{}.{}/test".format(*sys.version_info))


def load() -> dict[str, Any]:
    """Returns the contents of the test modules by name. Raises ModuleNotFoundError if they are not installed."""
    import test

    if not any(pathlib.Path(folder, name).exists() for folder in test.__path__
               for name in ("test_concurrent_futures.py", "test_concurrent_futures")):
        test.__path__.insert(0, str(_DEBIAN))  # for another interpreter of this version
    whole = importlib.import_module(MODULE)
    modules = [whole]
    for each in pkgutil.iter_modules(getattr(whole, "__path__", ())):
        if each.name in ("util", "executor", "test_wait", "test_as_completed", "test_shutdown"):
            modules.append(importlib.import_module(f"{MODULE}.{each.name}"))
    found: dict[str, Any] = {}
    for module in modules:
        cloudpickle.register_pickle_by_value(module)  # workers do not need the module
        found.update(vars(module))
    return found


class MusterExecutor(muster.Executor):
    """An executor with the arguments of the standard pools."""

    def __init__(self, max_workers: int | None = None) -> None:
        super().__init__(os.environ["MUSTER_TEST_SERVER"], log_to_driver=True, name="cpython")
