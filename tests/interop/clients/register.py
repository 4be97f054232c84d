"""Registers with the service and leaves in order. With --stay it waits to be killed."""
from command_line import say, words
from jax_process import finish, initialize


def main():
    given = words()
    say(registering=True)
    client = initialize(given)  # on failure JAX ends the process or raises
    client.key_value_set(f'run/{given.index}', 'set')  # setting it twice would be an error
    client.wait_at_barrier('all_here', 30_000)
    say(registered=True)
    if given.stay:
        client.blocking_key_value_get('never', 60_000)
    finish()


main()
