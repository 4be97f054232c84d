"""A client whose connection is lost without being closed, as in a partition or when a host is switched off."""
from __future__ import annotations

import pathlib
import time

import pytest

import muster
from conftest import Server, WorkerProcess
from muster import _tls
from proxies import Proxy


def test_call_gets_its_value_although_the_connection_went_silent(tmp_path: pathlib.Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    # The same options with shorter times.
    monkeypatch.setattr(_tls, "KEEPALIVE", [(name, min(value, 1000)) for name, value in _tls.KEEPALIVE])
    server = Server(tmp_path)
    worker = WorkerProcess(tmp_path, 0, server.grpc, ("--processes", "1"))
    proxy = Proxy(server.grpc)
    try:
        with muster.ClusterCoordinator(proxy.address) as c:
            assert c.submit(abs, -1).fetch(60) == 1
            value = c.submit(time.sleep, 1)
            proxy.freeze()
            assert value.fetch(60) is None
    finally:
        proxy.close()
        proxy.reset()
        worker.stop()
        server.stop()
