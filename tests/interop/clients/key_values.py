"""The key-value calls of JAX's client, between processes."""
import threading

from command_line import say, words
from jax_process import VERSION, error_of, finish, initialize

SECOND = 1000  # the client counts in milliseconds
LONG = 30 * SECOND
# Before 0.7 the client itself refuses messages of more than 4 MB.
LARGE = (6 if VERSION >= (0, 7, 0) else 3) << 20


def values_of_all(client, given):
    client.key_value_set(f'greeting/{given.index}', f'hello from {given.index}')
    expected = [f'hello from {i}' for i in range(given.tasks)]
    got = [client.blocking_key_value_get(f'greeting/{i}', LONG) for i in range(given.tasks)]
    assert got == expected, got
    listed = sorted(client.key_value_dir_get('greeting/'))
    assert listed == [(f'greeting/{i}', expected[i]) for i in range(given.tasks)], listed


def bytes_small_and_large(client, given):
    mine = bytes([given.index, 0, 255, 10])
    large = mine * (LARGE // 4)
    client.key_value_set_bytes(f'bytes/{given.index}', mine)
    if given.index == 1:
        client.key_value_set_bytes('large', large)
    next_one = (given.index + 1) % given.tasks
    got = client.blocking_key_value_get_bytes(f'bytes/{next_one}', LONG)
    assert got == bytes([next_one, 0, 255, 10]), got
    got = client.blocking_key_value_get_bytes('large', LONG)
    assert got == bytes([1, 0, 255, 10]) * (LARGE // 4), (len(got), got[:8])


def a_key_is_set_once(client, given):
    key = f'once/{given.index}'
    client.key_value_set(key, 'first')
    message, _ = error_of(client.key_value_set, key, 'second')
    assert 'ALREADY_EXISTS' in message and key in message, message
    assert client.blocking_key_value_get(key, LONG) == 'first'
    client.key_value_set(key, 'third', allow_overwrite=True)
    assert client.blocking_key_value_get(key, LONG) == 'third'


def slashes_do_not_matter(client, given):
    client.key_value_set(f'/slashes//{given.index}/', 'here')
    assert client.blocking_key_value_get(f'slashes/{given.index}', LONG) == 'here'
    # A directory is not a prefix of a name.
    assert list(client.key_value_dir_get('slash')) == []


def a_missing_key(client, given):
    message, seconds = error_of(client.blocking_key_value_get, f'never/{given.index}', 1 * SECOND)
    assert 'DEADLINE_EXCEEDED' in message and 'never' in message, message
    assert 0.9 < seconds < 10, seconds
    if hasattr(client, 'key_value_try_get'):
        message, _ = error_of(client.key_value_try_get, f'never/{given.index}')
        assert 'NOT_FOUND' in message and 'never' in message, message


def a_get_waits_for_the_set(client, given):
    """Process 0 sets the key only after all others have started to wait for it."""
    if given.index == 0:
        for i in range(1, given.tasks):
            client.blocking_key_value_get(f'asking/{i}', LONG)
        client.key_value_set('awaited', 'now')
        return
    got = []
    waiting = threading.Thread(
        target=lambda: got.append(client.blocking_key_value_get('awaited', LONG)))
    waiting.start()
    client.key_value_set(f'asking/{given.index}', 'yes')
    waiting.join()
    assert got == ['now'], got


def counting(client, given):
    if not hasattr(client, 'key_value_increment'):  # before 0.7.2
        return
    client.key_value_increment('counter', given.index + 1)
    client.wait_at_barrier('all_counted', LONG)
    total = sum(range(1, given.tasks + 1))
    assert client.blocking_key_value_get('counter', LONG) == str(total)
    client.wait_at_barrier('all_read', LONG)
    say(counter=total)


def deleting(client, given):
    client.key_value_set(f'doomed/{given.index}/a', 'x')
    client.key_value_set(f'doomed/{given.index}/b/c', 'y')
    client.key_value_delete(f'doomed/{given.index}')
    assert list(client.key_value_dir_get(f'doomed/{given.index}')) == []
    client.key_value_set(f'doomed/{given.index}/a', 'again')  # the key is free again


def main():
    given = words()
    client = initialize(given)
    for part in (values_of_all, bytes_small_and_large, a_key_is_set_once, slashes_do_not_matter,
                 a_missing_key, a_get_waits_for_the_set, counting, deleting):
        part(client, given)
        say(part=part.__name__)
    finish()


main()
