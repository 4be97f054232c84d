"""Runs the two examples of TensorFlow's page on ClusterCoordinator with Muster, without TensorFlow.

    muster serve &
    python -m muster worker --role ps &
    python -m muster worker &
    python cluster_coordinator.py

MUSTER_COORDINATOR is the address of the server.
"""
from muster import tf_compat as tf


def iterators() -> None:
    cluster_resolver = None  # or tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.experimental.ParameterServerStrategy(cluster_resolver=cluster_resolver)
    coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy=strategy)

    @tf.function
    def worker_fn(iterator):
        return next(iterator)

    def per_worker_dataset_fn():
        return strategy.distribute_datasets_from_function(lambda x: tf.data.Dataset.from_tensor_slices([3] * 3))

    per_worker_dataset = coordinator.create_per_worker_dataset(per_worker_dataset_fn)
    per_worker_iter = iter(per_worker_dataset)
    remote_value = coordinator.schedule(worker_fn, args=(per_worker_iter,))
    assert remote_value.fetch() == 3


def variables() -> None:
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)

    def dataset_fn():
        return tf.data.Dataset.from_tensor_slices([1, 1, 1])

    with strategy.scope():
        v = tf.Variable(initial_value=0)

    @tf.function
    def worker_fn(iterator):
        def replica_fn(x):
            v.assign_add(x)
            return v.read_value()
        return strategy.run(replica_fn, args=(next(iterator),))

    distributed_dataset = coordinator.create_per_worker_dataset(dataset_fn)
    distributed_iterator = iter(distributed_dataset)
    result = coordinator.schedule(worker_fn, args=(distributed_iterator,))
    assert coordinator.fetch(result) == 1


if __name__ == "__main__":
    iterators()
    variables()
    print("both examples have run")
