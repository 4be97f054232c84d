"""An ordinary JAX program whose third process, at its fifth step, waits for data that never come: it
reads a FIFO that nobody writes to. The others wait for it in a collective.

Word: the directory of the FIFO.
"""
import os
import pathlib
import sys

import jax
import numpy

VICTIM, AT = 2, 5


def next_batch(folder, step):
    if jax.process_index() == VICTIM and step == AT:
        (folder / 'waits').touch()
        return (folder / 'data').read_bytes()
    return numpy.full(1, step, 'float32')


def main():
    folder = pathlib.Path(sys.argv[1])
    jax.config.update('jax_cpu_collectives_implementation', 'gloo')  # not the default before 0.5
    jax.distributed.initialize(num_processes=int(os.environ['JAX_NUM_PROCESSES']),
                               process_id=int(os.environ['JAX_PROCESS_ID']))
    mean = jax.pmap(lambda x: jax.lax.pmean(x, 'all'), axis_name='all')
    for step in range(1000):
        each = mean(next_batch(folder, step)[None])
        print('step', step, float(numpy.asarray(each.addressable_shards[0].data).ravel()[0]), flush=True)


main()
