"""A TensorFlow worker that meets the others before the server is killed, and again afterwards."""
import signal

from command_line import Signals, say, words
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
    go = Signals(signal.SIGUSR1)
    context = connect(given)
    meet(context, given, 0)
    for round_ in range(1, given.rounds + 1):
        go.wait()
        meet(context, given, round_)
    eager._reset_context()  # leaves the service, as the end of the process would
    say(finished=True)


main()
