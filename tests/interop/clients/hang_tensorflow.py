"""An ordinary program with MultiWorkerMirroredStrategy of which one process hangs, while the others wait for it in a
collective.

Argument: a directory.
"""
import json
import os
import pathlib
import sys

import tensorflow as tf
from hanging import next_batch

strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = json.loads(os.environ['TF_CONFIG'])['task']['index']


@tf.function
def step():
    mine = tf.constant([index + 1.0])
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, mine)


for number in range(20):
    next_batch(index, number, pathlib.Path(sys.argv[1]))
    print('step', number, strategy.run(step).numpy().tolist(), flush=True)
