"""Runs one client:

    python -m clients KIND --config config.json --history FILE --name NAME --seed N
"""
from __future__ import annotations

import argparse
import faulthandler
import json
import pathlib
import signal

from clients.agents import Agent
from clients.base import stopping
from clients.coordinator import Calls, Datasets, Maps, Objects, Variables
from clients.grpc_keys import GrpcKeys
from clients.jobs import Jobs, Programs
from clients.leaders import Leaders
from clients.streams import Streams
from clients.tokens import Tokens
from clients.torch_store import TorchStore
from recorder import Recorder

KINDS = {"agent": Agent, "calls": Calls, "datasets": Datasets, "grpc": GrpcKeys, "jobs": Jobs, "leaders": Leaders,
         "maps": Maps, "objects": Objects, "programs": Programs, "streams": Streams, "tokens": Tokens, "torch": TorchStore,
         "variables": Variables}


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
    KINDS[words.kind](config, Recorder(words.history), words.name, words.seed).run()


if __name__ == "__main__":
    main()
