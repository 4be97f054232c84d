"""An ordinary program with tf.distribute.MultiWorkerMirroredStrategy. It does not use Muster.

TF_CONFIG has the server as the only task of the job "ps", where the strategy looks for its service leader first. Nothing is
placed on that task.
"""
import json
import os

from command_line import say, words


def main():
    given = words()
    os.environ['TF_CONFIG'] = json.dumps({
        'cluster': {'worker': given.workers.split(','), 'ps': [os.environ['SERVER']]},
        'task': {'type': 'worker', 'index': given.index}})

    import tensorflow as tf
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    say(replicas=strategy.num_replicas_in_sync)

    @tf.function
    def step():
        context = tf.distribute.get_replica_context()
        mine = tf.constant([given.index + 1.0, 10.0])
        return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

    total = strategy.run(step)
    say(sum=total.numpy().tolist())

    with strategy.scope():  # all processes get worker 0's value
        variable = tf.Variable(100.0 + given.index)
    say(variable=float(variable.numpy()))


main()
