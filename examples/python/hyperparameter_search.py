"""Finds the best parameters of a classifier of handwritten digits, on the 1,797 images of
scikit-learn:  hyperparameter_search.py [--kill-one]

Every worker prepares the data once and keeps it; each call tries one pair of parameters. --kill-one kills a
worker's process during the search; only the time of its call is lost. MUSTER_SERVER is the address of a server.
Without it the program starts a server with two workers on this machine.
"""
import contextlib
import itertools
import os
import signal
import sys

import muster

GRID = list(itertools.product([0.1, 1, 10], [1e-4, 1e-3]))  # C, gamma


def data():
    """Returns images as (1797, 64) brightnesses of 0 to 16, and their digits."""
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def score(images, c, gamma):
    """Returns the accuracy of three-fold cross-validation, 0 to 1."""
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC

    return float(cross_val_score(SVC(C=c, gamma=gamma), *images, cv=3).mean())


def search(coordinator, kill_one=False):
    """Returns the best score, with its C and gamma."""
    images = coordinator.create_per_worker_value(data)
    values = {pair: coordinator.submit(score, images, *pair) for pair in GRID}
    if kill_one:
        victim = coordinator.options(priority=1).submit(os.getpid)
        os.kill(victim.fetch(), signal.SIGKILL)  # the worker runs on this machine
    scores = coordinator.fetch(values)
    best = max(scores, key=scores.get)
    return scores[best], *best


def main():
    with contextlib.ExitStack() as stack:
        server = os.environ.get("MUSTER_SERVER")
        if not server:
            server = stack.enter_context(muster.LocalCluster(workers=2)).address
        coordinator = stack.enter_context(muster.ClusterCoordinator(server, name="search"))
        best, c, gamma = search(coordinator, kill_one="--kill-one" in sys.argv)
        print(f"{best:.4f} with C={c} and gamma={gamma}")


if __name__ == "__main__":
    main()
