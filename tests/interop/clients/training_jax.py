"""An ordinary JAX program: data-parallel training that saves a checkpoint after each step and continues from the last one. It
uses Muster only through the environment variables that identify its rank.

Arguments: the directory of its checkpoints, and a file whose existence allows the program to end.
"""
import json
import pathlib
import sys
import time

import jax
import numpy

STEPS = 60  # the last one waits until the program is allowed to end


def main():
    folder, may_end = map(pathlib.Path, sys.argv[1:])
    jax.config.update('jax_cpu_collectives_implementation', 'gloo')  # not the default before 0.5
    jax.distributed.initialize()
    from jax.experimental import multihost_utils

    mine = numpy.random.default_rng(jax.process_index()).normal(size=(64, 8)).astype('float32')
    wanted = mine @ numpy.arange(8, dtype='float32')
    mean = jax.pmap(lambda x: jax.lax.pmean(x, 'all'), axis_name='all')
    gradient = jax.jit(jax.grad(lambda w, x, y: ((x @ w - y) ** 2).mean()))

    saved = folder / 'checkpoint'
    step, weights = 0, numpy.zeros(8, 'float32')
    if saved.exists():
        found = json.loads(saved.read_text())
        step, weights = found['step'], numpy.frombuffer(bytes.fromhex(found['weights']), 'float32')
    # All processes continue from the checkpoint that the first one has read.
    step, weights = jax.tree_util.tree_map(
        numpy.asarray, multihost_utils.broadcast_one_to_all((numpy.array(step), weights)))
    begun = int(step)
    for step in range(begun, STEPS):
        while step == STEPS - 1 and not may_end.exists():
            time.sleep(0.02)
        each = mean(gradient(weights, mine, wanted)[None])
        weights = weights - 0.05 * numpy.asarray(each.addressable_shards[0].data)[0]
        if jax.process_index() == 0:
            part = folder / 'part'
            part.write_text(json.dumps({'step': step + 1, 'weights': weights.tobytes().hex()}))
            part.replace(saved)
        multihost_utils.sync_global_devices(f'saved {step}')
    print('began at', begun, 'ended with', weights.tobytes().hex(), flush=True)
    jax.distributed.shutdown()


main()
