"""Trains a classifier of handwritten digits on all processes of a `muster run`. Each process has a part of
scikit-learn's 1,797 images:

    muster run --nproc 4 -- python data_parallel_jax.py

Every process holds all parameters and an equal part of the images. XLA sums the gradient of each step over all
processes. The processes find each other through the server that `muster run` has started.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sklearn.datasets import load_digits

import muster.jax

TRAIN = 1400
STEPS = 150
RATE = 0.1
MOMENTUM = 0.9


def start():
    """Returns weights and biases of two layers: 64 brightnesses, 64 features, 10 digits; equal in all processes."""
    random = np.random.default_rng(0)

    def layer(inputs, outputs):
        weights = random.standard_normal((inputs, outputs), np.float32) / np.sqrt(inputs, dtype=np.float32)
        return weights, np.zeros(outputs, np.float32)

    return {"hidden": layer(64, 64), "output": layer(64, 10)}


def scores(parameters, images):
    weights, biases = parameters["hidden"]
    features = jnp.tanh(images @ weights + biases)
    weights, biases = parameters["output"]
    return features @ weights + biases


def loss(parameters, images, digits):
    right = jax.nn.one_hot(digits, 10)
    return -jnp.mean(jnp.sum(right * jax.nn.log_softmax(scores(parameters, images)), axis=1))


def step(parameters, velocity, images, digits):
    gradient = jax.grad(loss)(parameters, images, digits)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v - RATE * g, velocity, gradient)
    return jax.tree.map(jnp.add, parameters, velocity), velocity


def main():
    muster.jax.initialize()
    images, digits = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(images))  # the same in all processes
    rank, size = jax.process_index(), jax.process_count()
    mine = order[:TRAIN - TRAIN % size][rank::size]

    mesh = Mesh(np.array(jax.devices()), ("images",))
    by_image = NamedSharding(mesh, PartitionSpec("images"))
    everywhere = NamedSharding(mesh, PartitionSpec())
    part = [jax.make_array_from_process_local_data(by_image, whole[mine])
            for whole in (images, digits.astype(np.int32))]
    parameters = start()
    velocity = jax.tree.map(np.zeros_like, parameters)
    step_of_all = jax.jit(step, out_shardings=everywhere)
    for _ in range(STEPS):
        parameters, velocity = step_of_all(parameters, velocity, *part)

    trained = jax.tree.map(lambda p: np.asarray(p.addressable_data(0)), parameters)
    rest = order[TRAIN:]
    said = np.argmax(jax.jit(scores)(trained, images[rest]), axis=1)
    accuracy = float(np.mean(said == digits[rest]))
    if rank == 0:
        print(f"accuracy {accuracy:.4f} on {len(rest)} images, {size} processes", flush=True)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
