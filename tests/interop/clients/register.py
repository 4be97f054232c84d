"""Registers, says how that went, and ends in order; with --stay it waits to be killed."""
import sys
import time

from command_line import say, words
from jax_process import finish, initialize


def main():
    given = words()
    began = time.monotonic()
    try:
        client = initialize(given)
    except Exception as error:  # XlaRuntimeError, JaxRuntimeError: the name differs by version
        say(refused={'message': str(error), 'seconds': time.monotonic() - began})
        sys.exit(1)
    client.key_value_set(f'run/{given.index}', 'set')  # twice would be an error
    client.wait_at_barrier('all_here', 30_000)
    say(registered=True)
    if given.stay:
        client.blocking_key_value_get('never', 60_000)
    finish()


main()
