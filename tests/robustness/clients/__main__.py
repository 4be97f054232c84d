"""Runs one client:

    python -m clients KIND --config config.json --history FILE --name NAME --seed N
"""
from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import pathlib
import signal

from clients.base import stopping
from recorder import Recorder

KINDS = {"agent": "agents.Agent", "calls": "coordinator.Calls", "datasets": "coordinator.Datasets", "grpc": "grpc_keys.GrpcKeys",
         "jobs": "jobs.Jobs", "leaders": "leaders.Leaders", "maps": "coordinator.Maps", "objects": "coordinator.Objects",
         "programs": "jobs.Programs", "streams": "streams.Streams", "tokens": "tokens.Tokens", "torch": "torch_store.TorchStore",
         "variables": "coordinator.Variables"}
"""Module and class of each kind. A client imports only its own module, because imports are most of the time of a start."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="clients")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--config", type=pathlib.Path, required=True)
    parser.add_argument("--history", type=pathlib.Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--seed", type=int, required=True)
    words = parser.parse_args()
    signal.signal(signal.SIGTERM, stopping.request)
    faulthandler.register(signal.SIGUSR1)  # run.py asks for the stacks of a client that does not end
    config = json.loads(words.config.read_text())
    module, _, name = KINDS[words.kind].partition(".")
    kind = getattr(importlib.import_module(f"clients.{module}"), name)
    kind(config, Recorder(words.history), words.name, words.seed).run()


if __name__ == "__main__":
    main()
