"""A TensorFlow worker that meets the others before the server is killed and after it."""
import signal
import threading

from command_line import say, words
from tensorflow.python.eager import context as eager
from tensorflow_worker import LONG, connect


def meet(context, given, round_):
    context.set_config_key_value(f'round/{round_}/{given.index}', 'here')
    context.wait_at_barrier(f'round_{round_}', LONG)
    for i in range(given.tasks):
        assert context.get_config_key_value(f'round/{round_}/{i}', LONG) == 'here'
    say(met=round_)


def main():
    given = words()
    go = threading.Semaphore(0)
    signal.signal(signal.SIGUSR1, lambda *_: go.release())
    context = connect(given)
    meet(context, given, 0)
    for round_ in range(1, given.rounds + 1):
        while not go.acquire(timeout=0.1):  # so that the signal is handled
            pass
        meet(context, given, round_)
    eager._reset_context()  # leaves the service, as the end of the process would
    say(finished=True)


main()
