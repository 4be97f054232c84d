#!/usr/bin/env python3
"""Checks that a program built without its optional parts reports that: left_out_parts.py MUSTER"""
import subprocess
import sys

MUSTER = sys.argv[1]
SERVE = ["serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
CASES = {
    "TORCH_STORE": [["torch"], ["torch", "keys", "--prefix", "/"], [*SERVE, "--torch", "127.0.0.1:0"],
                    [*SERVE, "--torch-from", "10.0.0.0/8"], [*SERVE, "--cluster", "train:worker=2;torch=0"]],
    "CLOUD_RESOLVERS": [["resolve", "kubernetes:selector=app=a"], ["resolve", "gce"], ["resolve", "tf-config+tpu:name=a"],
                        [*SERVE, "--cluster-from", "gce:group=a"]],
    "POSTMORTEM": [["postmortem", "prog_0123456789abcdef", "-o", "report.html"]],
    "TOP": [["top"], ["top", "--once", "--output", "json"]],
    "TLS": [["tls"], ["tls", "init", "--dir", "there"]],
    "RELAY": [["proxy", "--listen", "127.0.0.1:0", "--upstream", "a:8476,b:8476"]],
}

failed = 0
for part, commands in CASES.items():
    for words in commands:
        done = subprocess.run([MUSTER, *words], capture_output=True, text=True, timeout=60)
        if done.returncode != 2 or f"it was configured with MUSTER_WITH_{part}=OFF" not in done.stderr:
            print(f"muster {' '.join(words)}: status {done.returncode}, {done.stderr.strip()}", file=sys.stderr)
            failed = 1
told = subprocess.run([MUSTER, "--help"], capture_output=True, text=True, check=True).stdout
if told.count("Not in this build") != 5:
    print(told, file=sys.stderr)
    failed = 1
sys.exit(failed)
