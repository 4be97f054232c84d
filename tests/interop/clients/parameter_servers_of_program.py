"""An ordinary program with tf.distribute.ParameterServerStrategy: a chief that schedules functions, workers that run them, and
parameter servers that hold the variable. All run the same file and read their task from TF_CONFIG.
"""
import os

os.environ.setdefault('GRPC_FAIL_FAST', 'use_caller')  # as TensorFlow's own documentation requires

import tensorflow as tf

STEPS = 100

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ('worker', 'ps'):
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                         task_index=resolver.task_id, protocol='grpc', start=True).join()

strategy = tf.distribute.ParameterServerStrategy(
    resolver, variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(2))
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    total = tf.Variable(tf.zeros([4]))  # one half on each parameter server
    steps = tf.Variable(0, dtype=tf.int64, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)


@tf.function
def step():
    def of_replica():
        steps.assign_add(1)
        for part in total.variables:
            part.assign_add(tf.ones_like(part))
        return tf.constant(1.0)
    return strategy.run(of_replica)


values = [coordinator.schedule(step) for _ in range(STEPS)]
coordinator.join()
print('shards', [part.device.split('/replica')[0] + part.device[part.device.index('/task'):][:7]
                 for part in total.variables],
      'steps', int(steps.numpy()), 'total', tf.concat([p.read_value() for p in total.variables], 0)
      .numpy().tolist(), 'fetched', sum(float(v.fetch()) for v in values), flush=True)
