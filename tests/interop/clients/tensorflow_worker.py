"""One of several TensorFlow workers whose coordination service is a separate server.

The server is in the cluster as the only task of a job, and that task is the service leader. TensorFlow itself is not changed.
"""
import os

import tensorflow as tf
from command_line import say, words
from tensorflow.compiler.xla.tsl.protobuf.coordination_config_pb2 import CoordinatedJob
from tensorflow.core.protobuf.tensorflow_server_pb2 import ServerDef
from tensorflow.python.eager import context as eager

LEADER = '/job:coordinator/replica:0/task:0'
LONG = 30_000  # milliseconds


def connect(given):
    """Connects like tf.distribute.MultiWorkerMirroredStrategy, but with another service leader."""
    context = eager.context()
    context.configure_coordination_service(
        service_type='standalone', service_leader=LEADER,
        heartbeat_timeout_in_ms=1000 * given.heartbeat_timeout,
        coordinated_jobs=[CoordinatedJob(name='worker', num_tasks=given.tasks)])
    context.configure_collective_ops(collective_leader='/job:worker/replica:0/task:0')
    cluster = tf.train.ClusterSpec({'worker': given.workers.split(','),
                                    'coordinator': [os.environ['SERVER']]})
    context.enable_collective_ops(ServerDef(
        cluster=cluster.as_cluster_def(), job_name='worker', task_index=given.index,
        protocol='grpc', default_session_config=context.config))
    context.ensure_initialized()
    return context


def error_of(call, *arguments):
    try:
        result = call(*arguments)
    except tf.errors.OpError as error:
        return type(error).__name__, str(error)
    raise AssertionError(f'{call.__name__}{arguments} gave {result!r}, not an error')


def key_values(context, given):
    context.set_config_key_value(f'greeting/{given.index}', f'hello from {given.index}')
    got = [context.get_config_key_value(f'greeting/{i}', LONG) for i in range(given.tasks)]
    assert got == [f'hello from {i}' for i in range(given.tasks)], got
    kind, _ = error_of(context.set_config_key_value, f'greeting/{given.index}', 'again')
    assert kind == 'AlreadyExistsError', kind
    kind, _ = error_of(context.get_config_key_value, 'never', 1000)
    assert kind == 'DeadlineExceededError', kind
    context.wait_at_barrier('all_read', LONG)
    context.delete_config_key_value(f'greeting/{given.index}')
    kind, _ = error_of(context.get_config_key_value, f'greeting/{given.index}', 500)
    assert kind == 'DeadlineExceededError', kind


def main():
    given = words()
    context = connect(given)
    say(devices=sorted(context.devices()))
    key_values(context, given)
    states = context.get_task_states([('worker', given.tasks)])
    say(states=[str(state) for state in states])
    context.wait_at_barrier('end', LONG)
    eager._reset_context()  # leaves the service, as the end of the process would
    say(finished=True)


if __name__ == '__main__':
    main()
