"""An ordinary program with tf.distribute.MultiWorkerMirroredStrategy, which finds the other workers in TF_CONFIG."""
import json
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = json.loads(os.environ['TF_CONFIG'])['task']['index']


@tf.function
def step():
    mine = tf.constant([index + 1.0, 10.0])
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, mine)


total = strategy.run(step)
with strategy.scope():  # all processes get worker 0's value
    variable = tf.Variable(100.0 + index)
print('of', strategy.num_replicas_in_sync, 'sum', total.numpy().tolist(), 'variable',
      float(variable.numpy()), flush=True)
