"""Sessions of worker functions: the chief prepares the job, and the others wait."""
from __future__ import annotations

import logging
from typing import Any

import pytest

import muster
from conftest import Cluster
from muster import distribute
from recorded import TWO, TraitStrategy, context, run

Scaffold = distribute.Scaffold


@pytest.fixture
def server(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_COORDINATOR", cluster.server.grpc)


def test_chief_prepares_the_job_and_the_others_wait(server: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "muster.distribute")
    steps: list[str] = []
    asked: list[int] = []

    def ready(session: Any) -> bool:
        asked.append(1)
        return len(asked) > 1 and "init" in steps

    def f(strategy: Any) -> None:
        c = context()
        scaffold = Scaffold(init=lambda s: steps.append("init"), ready=ready)
        with c.session_creator(scaffold, {"given": 1, "task": 5}).create_session() as session:
            assert session.config["given"] == 1 and session.config["task"] == 1, "the configuration of the strategy takes precedence"
            steps.append(session.on_own_task().submit(lambda: muster.context().task).fetch(20))

    run(f, TWO, TraitStrategy(True))
    assert steps[0] == "init" and sorted(steps[1:]) == ["worker:0", "worker:1"] and len(asked) > 1
    assert "session of worker:0: this is the chief, which prepares the job, master 'grpc://a:1'" in caplog.text
    assert "session of worker:1: waiting until the chief has prepared the job, master 'grpc://b:1'" in caplog.text


def test_checkpoint_is_restored_instead_of_init(server: None) -> None:
    def prepared(has: bool, **named: str) -> list[str]:
        steps: list[str] = []

        def restore(session: Any, wanted: str) -> bool:
            steps.append(wanted)
            return has

        scaffold = Scaffold(init=lambda s: steps.append("init"), restore=restore)
        run(lambda s: context().session_creator(scaffold, **named).create_session().close())
        return steps

    assert prepared(True, checkpoint_dir="d") == ["d"]
    assert prepared(False, checkpoint_dir="d") == ["d", "init"]
    assert prepared(True, checkpoint_filename_with_path="f") == ["f"]
    with pytest.raises(FileNotFoundError, match="no checkpoint was restored from f"):
        prepared(False, checkpoint_filename_with_path="f")
    with pytest.raises(ValueError, match="pass only one of them"):
        prepared(True, checkpoint_dir="d", checkpoint_filename_with_path="f")
    with pytest.raises(ValueError, match="no restore function"):
        run(lambda s: context().session_creator(checkpoint_dir="d"))


def test_session_creation_has_a_time_limit(server: None, monkeypatch: pytest.MonkeyPatch) -> None:
    never_ready = Scaffold(ready=lambda s: False)

    def f(strategy: Any) -> None:
        if context().task_id:
            context().session_creator(never_ready, max_wait_secs=0.3).create_session()

    with pytest.raises(muster.WaitTimeout, match="the chief did not prepare the job within 0.3 s"):
        run(f, TWO, TraitStrategy(True))
    monkeypatch.setenv("MUSTER_COORDINATOR", "127.0.0.1:1")
    with pytest.raises(muster.UnavailableError, match="no answer from 127.0.0.1:1 within 0.3 s"):
        run(lambda s: context().session_creator(max_wait_secs=0.3).create_session())
