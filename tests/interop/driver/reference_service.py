"""jaxlib's own coordination service as a separate server, as the reference for the scenarios."""
import argparse
import json
import os
import signal
import sys
import threading

try:
    from jaxlib import _jax as xla
except ImportError:  # before 0.6
    from jaxlib import xla_extension as xla


def start(given):
    known = xla.get_distributed_runtime_service.__doc__ or ''
    if 'heartbeat_timeout' not in known:  # before 0.7 the options are an interval and a number of missing heartbeats
        arguments = {'heartbeat_interval': given.heartbeat_timeout // 2,
                     'max_missing_heartbeats': 2}
    else:
        arguments = {'heartbeat_timeout': given.heartbeat_timeout}
    if given.recoverable and 'recoverable' in known:  # before 0.9.1 each client sets this option itself
        arguments['recoverable'] = True
    return xla.get_distributed_runtime_service(given.address, given.tasks, **arguments)


def main():
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument('--address', required=True)
    words.add_argument('--ready-file', required=True)
    words.add_argument('--tasks', type=int, required=True)
    words.add_argument('--heartbeat-timeout', type=int, required=True)
    words.add_argument('--recoverable', action='store_true')
    given = words.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    service = start(given)
    try:
        with open(given.ready_file + '.new', 'w') as file:
            json.dump({'grpc': given.address}, file)
        os.rename(given.ready_file + '.new', given.ready_file)
        threading.Event().wait()  # until SIGTERM
    finally:
        service.shutdown()


main()
