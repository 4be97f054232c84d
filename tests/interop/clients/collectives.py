"""Devices of all processes; an all-gather, a psum and a broadcast over them; an orderly end."""
import numpy
from command_line import say, words
from jax_process import finish, initialize, jax


def main():
    given = words()
    initialize(given)
    from jax.experimental import multihost_utils

    everyone = list(range(given.tasks))
    assert jax.process_count() == given.tasks, jax.process_count()
    assert jax.device_count() == given.tasks, jax.devices()
    assert jax.local_device_count() == 1, jax.local_devices()
    assert [device.process_index for device in jax.devices()] == everyone, jax.devices()

    gathered = multihost_utils.process_allgather(numpy.array([given.index, 10 * given.index]))
    say(gathered=numpy.asarray(gathered).tolist())

    add = jax.pmap(lambda x: jax.lax.psum(x, 'tasks'), axis_name='tasks')
    total = add(numpy.array([[given.index + 0.5, 1.0]], numpy.float32))
    say(psum=numpy.asarray(total.addressable_shards[0].data).ravel().tolist())

    told = multihost_utils.broadcast_one_to_all(numpy.array(100 + given.index))
    say(broadcast=int(told))

    multihost_utils.sync_global_devices('end')
    finish()


main()
