"""Stores of torch.distributed for the comparisons in this folder: Muster's and torch's own."""
import argparse
import json
import pathlib
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"  # the Python of Debian's python3-torch
STOCK = """import sys, time
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=True, wait_for_workers=False)
print("ready", flush=True)
time.sleep(100000)
"""


def words(description):
    all_ = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    all_.add_argument("--binary", default=str(ROOT / "build/release/bin/muster"))
    return all_


def needs_torch():
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        sys.exit(f"{sys.argv[0]}: {PYTHON} has no torch: scripts/deps --only python3-torch")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def muster(binary, folder):
    """Returns the server, the port of its store, and its HTTP address."""
    ready = pathlib.Path(folder) / "ready.json"
    port = free_port()
    server = subprocess.Popen([binary, "serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file", ready,
                               "--torch", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
    while not ready.exists():
        if server.poll() is not None:
            sys.exit(f"{sys.argv[0]}: {binary} serve has ended with {server.returncode}")
        time.sleep(0.02)
    return server, port, json.loads(ready.read_text())["http"]


def stock():
    port = free_port()
    server = subprocess.Popen([PYTHON, "-c", STOCK, str(port)], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    return server, port
