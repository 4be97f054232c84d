"""Common setup of the JAX programs of these tests.

The server's address is the only setting: all processes connect to JAX_COORDINATOR_ADDRESS, and the service that process 0
always starts gets an unused address. JAX itself is not changed.
"""
import inspect
import os
import time

os.environ['JAX_COORDINATOR_ADDRESS'] = os.environ['SERVER']
os.environ['JAX_COORDINATOR_BIND_ADDRESS'] = '127.0.0.1:0'
os.environ['JAX_PLATFORMS'] = 'cpu'

import jax  # reads the environment
from command_line import say
from jax._src import distributed  # the client is not part of the public interface

jax.config.update('jax_cpu_collectives_implementation', 'gloo')  # not the default before 0.5
VERSION = tuple(int(part) for part in jax.__version__.split('.'))


def initialize(given):
    """Calls jax.distributed.initialize as a program would. Returns the client of the service."""
    arguments = {'num_processes': given.tasks, 'process_id': given.index,
                 'initialization_timeout': given.initialization_timeout}
    known = inspect.signature(jax.distributed.initialize).parameters
    if given.heartbeat_timeout is None:
        jax.distributed.initialize(**arguments)
    elif 'heartbeat_timeout_seconds' in known:
        jax.distributed.initialize(heartbeat_timeout_seconds=given.heartbeat_timeout, **arguments)
    else:  # before 0.7 the timeout is not part of the public call
        distributed.global_state.initialize(
            client_heartbeat_interval_seconds=given.heartbeat_timeout // 2,
            client_max_missing_heartbeats=2, **arguments)
    return distributed.global_state.client


def error_of(call, *arguments, **named):
    """Returns the error that the call must raise, and the seconds it took."""
    began = time.monotonic()
    try:
        result = call(*arguments, **named)
    except Exception as error:  # XlaRuntimeError, JaxRuntimeError: the name differs by version
        return str(error), time.monotonic() - began
    raise AssertionError(f'{call.__name__}{arguments} gave {result!r}, not an error')


def finish():
    """Ends the process in order. The driver takes exit status 0 for success."""
    jax.distributed.shutdown()
    say(finished=True)
