#!/usr/bin/env python3
"""Runs scenarios of unmodified JAX, TensorFlow and PyTorch processes against a Muster server.

Usually called by scripts/interop, which creates the virtual environments. With --server reference the same scenarios run
against jaxlib's own coordination service, except the unsupported ones: it does not name missing tasks at registration, it
serves only one run, and it does not support TensorFlow.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import shutil
import signal
import sys
import time

from driver.deadline import CannotRun, Failure
from driver.trial import Settings, Trial
from scenarios import jax_failures, jax_work, programs, tensorflow, torchrun

FAMILIES = {
    'jax': jax_work.SCENARIOS + jax_failures.SCENARIOS + programs.SCENARIOS_JAX,
    'tensorflow': tensorflow.SCENARIOS + programs.SCENARIOS_TENSORFLOW,
    'torch': torchrun.SCENARIOS,
}
TAIL_LINES = 60
RUNNING = set()


def words():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--environments', type=pathlib.Path, required=True,
                        help='folder of the virtual environments, each named LIBRARY-VERSION')
    parser.add_argument('--muster', type=pathlib.Path, help='the binary under test')
    parser.add_argument('--server', choices=['muster', 'reference'], default='muster')
    parser.add_argument('--scenario', action='append', help='only this one; repeatable')
    parser.add_argument('--at-a-time', type=int, default=2,
                        help='scenarios: they mostly wait')
    parser.add_argument('names', nargs='+', metavar='NAME', help='jax-0.9.2, …')
    given = parser.parse_args()
    if given.server == 'muster' and not given.muster:
        parser.error('--muster is needed')
    return given


def selected(given):
    """Returns pairs of an environment's name and a scenario."""
    for name in given.names:
        library, version = parts(name)
        for scenario in FAMILIES[library]:
            if version < scenario.since:
                continue
            # A scenario that was named explicitly also runs if the original service is known to fail it.
            if scenario.name in given.scenario if given.scenario else given.server == 'muster' or scenario.reference:
                yield name, scenario


def parts(name):
    library, _, version = name.partition('-')
    return library, tuple(int(part) for part in version.split('.'))


def perform(given, name, scenario):
    """Returns PASS, FAIL or SKIP, the seconds of the run, and a message."""
    folder = given.environments.absolute() / 'logs' / name / scenario.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    python = (given.environments / name / 'bin' / 'python').absolute()
    muster = given.muster.absolute() if given.server == 'muster' else None
    _, version = parts(name)
    began = time.monotonic()
    trial = Trial(Settings(python, version, muster), folder, scenario.seconds)
    RUNNING.add(trial)
    outcome, said = 'PASS', ''
    try:
        scenario.run(trial)
        trial.server.stop()
    except CannotRun as error:
        outcome, said = 'SKIP', str(error)
        if os.environ.get('CI') == 'true':  # in CI a missing requirement must not look like success
            outcome, said = 'FAIL', f'CI cannot run it: {said}'
    except Exception as error:  # any failure is recorded, so that the other scenarios run
        said = str(error) if isinstance(error, Failure) else repr(error)
        outcome, said = 'FAIL', '\n'.join([said, *tails(trial)])
    finally:
        trial.close()
        RUNNING.discard(trial)
    return outcome, time.monotonic() - began, said


def tails(trial):
    trial.dump_stacks()
    for process in trial.processes:
        yield f'--- {process.name}'
        yield from process.tail(TAIL_LINES)


def report(name, scenario, outcome, seconds, said):
    print(f'{name:<16} {scenario.name:<21} {outcome}  {seconds:5.1f} s', flush=True)
    if said:
        print('    ' + said.replace('\n', '\n    '), flush=True)


def perform_all(given):
    """Runs two scenarios at a time, and prints each result at its end. Processes end with the thread that started them (see
    driver/process.py), so the threads stay until all trials are over."""
    count = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(given.at_a_time) as pool:
        tried = {pool.submit(perform, given, name, scenario): (name, scenario)
                 for name, scenario in selected(given)}
        try:
            for trial in concurrent.futures.as_completed(tried):
                outcome, seconds, said = trial.result()
                report(*tried[trial], outcome, seconds, said)
                count[outcome] += 1
        except SystemExit:
            pool.shutdown(wait=False, cancel_futures=True)
            for trial in list(RUNNING):
                trial.close()
            raise
    return count


def main():
    given = words()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that trials are closed
    count = perform_all(given)
    skipped = f', {count["SKIP"]} skipped' if count['SKIP'] else ''
    print(f'{count["PASS"]} passed, {count["FAIL"]} failed{skipped}')
    sys.exit(1 if count['FAIL'] or not count else 0)


main()
