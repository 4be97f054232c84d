"""Trains a classifier of scikit-learn's handwritten digits asynchronously. Parameter servers hold the weights.
Workers read them, compute gradients of small batches and send these back, without waiting for each other.

    parameter_servers.py CHECKPOINTS

It starts from the newest checkpoint in that directory, and returns to it when a parameter server is lost. Workers
can join and leave at any time. MUSTER_SERVER is the address of a server with tasks ps:0 and ps:1 and some workers.
Without it the program starts all of them on this machine.
"""
import contextlib
import os
import subprocess
import sys

import numpy as np

import muster

STEPS = 1000
PER_CLOSURE = 20
BATCH = 64
RATE = 0.2
PS = ["ps:0", "ps:1"]


def data():
    """Returns a worker's data: images as brightnesses of 0 to 1, and their digits. The last 397 are the test set."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    return (images / 16).astype("float32"), digits


def make(c):
    """Creates the weights of two layers, with one shard on each parameter server, and a counter of steps."""
    dice = np.random.default_rng(0)
    halves = muster.FixedShardsPartitioner(2)

    def variable(name, array):
        return c.variable(array.astype("float32"), name=name, partitioner=halves, tasks=PS)

    model = {"w1": variable("w1", dice.normal(size=(64, 32)) / 8), "b1": variable("b1", np.zeros(32)),
             "w2": variable("w2", dice.normal(size=(32, 10)) / 6), "b2": variable("b2", np.zeros(10))}
    return model, c.variable(np.zeros((), "int64"), name="steps", task="ps:0")


def read(model):
    values = {name: v.read() for name, v in model.items()}  # all at once
    return {name: value.fetch() for name, value in values.items()}


def forward(w, images):
    hidden = np.maximum(images @ w["w1"] + w["b1"], 0)
    scores = hidden @ w["w2"] + w["b2"]
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, chances / chances.sum(axis=1, keepdims=True)


def train(held, model, steps, seed):
    """Runs some steps on a worker, at least once each: if the worker is lost, some steps run again."""
    images, digits = held
    dice = np.random.default_rng(seed)
    for _ in range(PER_CLOSURE):
        chosen = dice.integers(0, 1400, BATCH)
        w = read(model)
        hidden, error = forward(w, images[chosen])
        error[np.arange(BATCH), digits[chosen]] -= 1
        back = error @ w["w2"].T * (hidden > 0)
        gradients = {"w1": images[chosen].T @ back, "b1": back.sum(axis=0), "w2": hidden.T @ error,
                     "b2": error.sum(axis=0)}
        for name, gradient in gradients.items():
            model[name].sgd(gradient / BATCH, RATE)
        steps.assign_add(1).fetch()


def accuracy(model, images, digits):
    _, chances = forward(read(model), images[1400:])
    return float((chances.argmax(axis=1) == digits[1400:]).mean())


def run(c, checkpoints):
    model, steps = make(c)
    number = c.restore(checkpoints)
    print(f"from checkpoint {number}" if number else "from the beginning", flush=True)
    held, own = c.create_per_worker_value(data), data()
    seed = 0
    with c.checkpoints(checkpoints, every=0.5, keep=2):
        while (done := int(steps.read().fetch())) < STEPS:
            c.fetch([c.submit(train, held, model, steps, (done, seed + i)) for i in range(9)])
            seed += 9
            print(f"step {int(steps.read().fetch())}: accuracy {accuracy(model, *own):.3f}", flush=True)
    c.save(checkpoints)


@contextlib.contextmanager
def here():
    """Starts a server, three workers and two parameter servers."""
    with muster.LocalCluster(workers=3) as cluster:
        ps = subprocess.Popen([sys.executable, "-m", "muster", "worker", "--role", "ps", "--index", "0",
                               "--processes", "2", "--server", cluster.address])
        try:
            yield cluster.address
        finally:
            ps.terminate()
            ps.wait()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with contextlib.ExitStack() as stack:
        server = os.environ.get("MUSTER_SERVER") or stack.enter_context(here())
        while True:
            try:
                with muster.ClusterCoordinator(server, name="digits") as c:
                    return run(c, sys.argv[1])
            except muster.UnavailableError as lost:
                print(f"once more: {lost}", flush=True)


if __name__ == "__main__":
    main()
