"""Barriers of JAX's client: repeated uses, subsets, time-outs and later uses, unknown tasks."""
from command_line import say, words
from jax_process import error_of, finish, initialize

SECOND = 1000  # the client counts in milliseconds
LONG = 30 * SECOND
ABSENT = 0  # the task that does not arrive in `a_barrier_times_out`


def everyone_leaves_together(client, given):
    """A task that leaves the barrier sees the work that all others did before it."""
    client.key_value_set(f'before/{given.index}', 'done')
    client.wait_at_barrier('all', LONG)
    seen = len(client.key_value_dir_get('before'))
    assert seen == given.tasks, seen


def one_id_again_and_again(client, given):
    for round_ in range(5):
        client.key_value_set(f'round/{round_}/{given.index}', 'here')
        client.wait_at_barrier('step', LONG)
        seen = len(client.key_value_dir_get(f'round/{round_}'))
        assert seen == given.tasks, (round_, seen)


def some_without_the_others(client, given):
    pair = [1, given.tasks - 1]
    if given.index in pair:
        client.key_value_set(f'pair/{given.index}', 'here')
        client.wait_at_barrier('pair', LONG, process_ids=pair)
        client.wait_at_barrier('pair', LONG, process_ids=pair)
        assert len(client.key_value_dir_get('pair')) == len(pair)
        if given.index == 1:
            client.key_value_set('pair_is_through', 'yes')
    client.blocking_key_value_get('pair_is_through', LONG)


def a_stranger_is_refused(client, given):
    if given.index != 2:
        return
    message, _ = error_of(client.wait_at_barrier, 'strangers', LONG, process_ids=[0, 1])
    assert 'INVALID_ARGUMENT' in message, message


def a_barrier_times_out(client, given):
    """The waiting tasks get the names of missing tasks, and the late task gets the same error. Then all agree on the next use of
    the id, for which the error must have contained the service's counter."""
    if given.index == ABSENT:
        for i in range(given.tasks):
            if i != ABSENT:
                client.blocking_key_value_get(f'timed_out/{i}', LONG)
        message, seconds = error_of(client.wait_at_barrier, 'lonely', LONG)
        assert seconds < 10, seconds
        client.key_value_set('late_one_was_told', 'yes')
    else:
        message, seconds = error_of(client.wait_at_barrier, 'lonely', 2 * SECOND)
        client.key_value_set(f'timed_out/{given.index}', 'yes')
        assert 0.5 < seconds < 10, seconds
        client.blocking_key_value_get('late_one_was_told', LONG)
    assert 'DEADLINE_EXCEEDED' in message, message
    say(timed_out=message)
    client.wait_at_barrier('lonely', LONG)


def main():
    given = words()
    client = initialize(given)
    for part in (everyone_leaves_together, one_id_again_and_again, some_without_the_others,
                 a_stranger_is_refused, a_barrier_times_out):
        part(client, given)
        say(part=part.__name__)
    finish()


main()
