"""An ordinary JAX program of which one process hangs, while the others wait for it in a collective.

Argument: a directory.
"""
import os
import pathlib
import sys

import jax
import numpy
from hanging import next_batch


def main():
    folder = pathlib.Path(sys.argv[1])
    jax.config.update('jax_cpu_collectives_implementation', 'gloo')  # not the default before 0.5
    jax.distributed.initialize(num_processes=int(os.environ['JAX_NUM_PROCESSES']),
                               process_id=int(os.environ['JAX_PROCESS_ID']))
    mean = jax.pmap(lambda x: jax.lax.pmean(x, 'all'), axis_name='all')
    for step in range(20):
        next_batch(jax.process_index(), step, folder)
        each = mean(numpy.full((1, 1), step, 'float32'))
        print('step', step, float(numpy.asarray(each.addressable_shards[0].data).ravel()[0]), flush=True)


main()
