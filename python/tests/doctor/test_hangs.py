"""Hang detection: the rank that hangs and its source line, with programs as processes."""
from __future__ import annotations

import os
import pathlib
import re
import signal
import socket
import sys
import time
from typing import Any

import pytest

import muster
from conftest import DEADLINE, HERE, python, until
from muster.rest.http import Http
from test_programs import python_with_torch

SCRIPT = pathlib.Path(__file__).with_name("ranks_that_meet.py")
AFTER = 2.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def launched(folder: pathlib.Path, kind: str, tasks: int = 4, **words: Any) -> muster.Program:
    return muster.launch([sys.executable, str(SCRIPT), kind, str(folder), str(free_port())], tasks=tasks,
                         name=kind.replace("_", "-"), hang_after=AFTER, env={"PYTHONPATH": str(HERE.parent)}, **words)


def asked(url: str, what: str, of: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = Http(url, None, None, None, "").json("GET", f"/api/v1/{what}")[of]
    return answer


def hang_of(program: muster.Program) -> dict[str, Any] | None:
    return program.refresh().get("hang")


def test_hanging_rank_of_pytorch_is_named(url: str, tmp_path: pathlib.Path) -> None:
    """Each kind of hang has an attempt of its own. No rank is named in the last attempt, which does not hang."""
    script = pathlib.Path(__file__).with_name("ranks_of_torch.py")
    os.mkfifo(tmp_path / "data")
    p = muster.launch([python_with_torch(), str(script), str(tmp_path)], tasks=4, hang_after=AFTER,
                      on_hang="restart", max_restarts=4, restart_grace=0.5)
    p.wait(300)
    kinds = ("sleep", "lock_held_in_c", "fifo", "stopped")
    assert p.view["restarts"] == len(kinds), p.view
    for attempt, kind in zip(p.attempts(), kinds):
        hang = attempt["cause"]["hang"]
        assert (attempt["end"], hang["rank"]) == ("HUNG", 2), (kind, attempt)
        assert hang["evidence"] == ("STOPPED" if kind == "stopped" else "STACK"), (kind, hang)
        assert kind == "stopped" or re.search(rf"{script}:\d+ in hang$", hang["line"]), (kind, hang)
        assert hang["waits"] == 3, (kind, hang)


@pytest.mark.parametrize(("kind", "evidence", "line"), [
    ("sleep", "STACK", "in hang"), ("lock_held_in_c", "STACK", "in hang"), ("fifo", "STACK", "in hang"),
    ("stopped", "STOPPED", None), ("barrier", "BARRIER", "in main"), ("left_early_for", "BARRIER", None),
    ("came_late_from", "BARRIER", None)])
def test_hanging_rank_is_named(url: str, tmp_path: pathlib.Path, kind: str, evidence: str,
                               line: str | None) -> None:
    p = launched(tmp_path, kind)
    until((tmp_path / "hangs").exists)
    since = time.monotonic()
    hang = until(lambda: hang_of(p), "it is found")
    took = time.monotonic() - since
    assert (hang["rank"], hang["task"], hang["evidence"]) == (1, "worker:1", evidence), hang
    if line:
        assert str(SCRIPT) in hang["line"] and hang["line"].endswith(line), hang
    assert hang["waits"] == 3 and "worker:0" in hang["waiting"]
    assert took < 15, "takes about 3 s on an idle machine, 5 s for a loop in C"
    (alert,) = [a for a in asked(url, "attention", "items") if a["rule"] == "program-hangs"]
    assert alert["title"] == f"Program {p.name} hangs" and "rank 1 on " in alert["detail"]
    p.cancel()


def test_hanging_rank_among_64_is_named(url: str, tmp_path: pathlib.Path) -> None:
    p = launched(tmp_path, "fifo", tasks=64)
    until((tmp_path / "hangs").exists)
    since = time.monotonic()
    hang = until(lambda: hang_of(p), "it is found")
    assert (hang["rank"], hang["evidence"], hang["waits"]) == (1, "STACK", 63), hang
    assert hang["line"].endswith("in hang")
    assert time.monotonic() - since < 20, "takes about 4 s on an idle machine"
    p.cancel()


def test_rank_that_left_the_barrier_early_is_distinguished_from_the_others(url: str, tmp_path: pathlib.Path) -> None:
    """Rank 1 waits at a lock. Rank 0 serves the barrier: it has an additional thread, and its main thread has the same
    stack as the main threads of the other ranks."""
    p = launched(tmp_path, "left_early")
    until((tmp_path / "hangs").exists)
    hang = until(lambda: hang_of(p), "it is found")
    assert (hang["evidence"], hang["rank"]) == ("STACK", 1), hang
    p.cancel()


def test_ranks_with_own_copies_of_an_upload_are_compared(url: str, tmp_path: pathlib.Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "s.py").write_text("import os, socket\n"
                               "near, far = socket.socketpair()\n"
                               "def load():\n    near.recv(1)\n"
                               "def wait():\n    near.recv(1)\n"
                               "load() if os.environ['RANK'] == '2' else wait()\n")
    p = muster.launch([sys.executable, "s.py"], tasks=4, hang_after=AFTER, upload=code)
    hang = until(lambda: hang_of(p), "it is found")
    assert (hang["evidence"], hang["rank"], hang["line"]) == ("STACK", 2, "s.py:4 in load"), hang
    groups = p.stacks()
    assert sorted(len(g["ranks"]) for g in groups) == [1, 3], groups
    p.cancel()


def test_hanging_program_restarts_with_on_hang_restart(url: str, tmp_path: pathlib.Path) -> None:
    script = ("import os, time, sys\n"
              "if os.environ['MUSTER_ATTEMPT'] == '1':\n"
              "    def stuck():\n        time.sleep(1000)\n"
              "    def waits():\n        time.sleep(1000)\n"
              "    stuck() if os.environ['RANK'] == '2' else waits()\n")
    p = muster.launch(python(script), tasks=4, on_hang="restart", hang_after=AFTER, max_restarts=1)
    p.wait(DEADLINE)
    first, second = p.attempts()
    assert (first["end"], second["end"]) == ("HUNG", "SUCCEEDED")
    assert first["cause"]["kind"] == "HANG" and first["cause"]["rank"] == 2
    assert first["cause"]["hang"]["evidence"] == "STACK" and "in stuck" in first["cause"]["hang"]["line"]


def test_failed_rank_that_waits_in_shutdown_is_named_with_its_output(url: str) -> None:
    """As with JAX, the failed rank disconnects from the coordination service before it exits."""
    script = ("import atexit, os, socket, muster\n"
              "a = muster.Agent()\n"
              "a.connect(60)\n"
              "near, far = socket.socketpair()\n"
              "if os.environ['MUSTER_ATTEMPT'] == '1':\n"
              "    if os.environ['RANK'] == '2':\n"
              "        atexit.register(a.shutdown, 600)\n"
              "        raise ValueError('the loss is not finite')\n"
              "    near.recv(1)\n")
    p = muster.launch(python(script), tasks=4, on_hang="restart", hang_after=AFTER, max_restarts=1,
                      env={"PYTHONPATH": str(HERE.parent)})
    p.wait(DEADLINE)
    cause = p.attempts()[0]["cause"]
    assert (cause["kind"], cause["rank"], cause["hang"]["evidence"]) == ("HANG", 2, "STACK"), cause
    assert any("the loss is not finite" in line for line in cause["stderr"]), cause


def test_hanging_program_fails_with_on_hang_abort_and_names_the_line(url: str, tmp_path: pathlib.Path) -> None:
    p = launched(tmp_path, "sleep", on_hang="abort", max_restarts=3)
    with pytest.raises(muster.ProgramFailedError, match="rank 1 on .* blocks the others: .*ranks_that_meet.py:.* in hang") as e:
        p.wait(DEADLINE)
    assert e.value.cause and e.value.cause["kind"] == "HANG"
    assert [a["end"] for a in p.attempts()] == ["HUNG"]


def test_hang_ends_when_the_rank_continues(url: str, tmp_path: pathlib.Path) -> None:
    p = launched(tmp_path, "stopped")
    hang = until(lambda: hang_of(p))
    assert hang["process"].startswith("T") and hang["evidence"] == "STOPPED", hang
    os.kill(p.ranks()[1]["pid"], signal.SIGCONT)
    until(lambda: hang_of(p) is None, "it is over")
    assert p.state == "RUNNING"
    assert [e["kind"] for e in asked(url, "events", "events") if e["kind"].startswith("program_")] == [
        "program_hangs", "program_moves_again"]
    seen = asked(url, f"programs/{p.id}/attempts/1", "events")
    assert [e["kind"] for e in seen] == ["HANGS", "MOVES_AGAIN"]
    assert seen[0]["at_ms"] == hang["since_ms"] and seen[0]["about"] == "worker:1"
    p.cancel()


def test_working_programs_are_not_reported_as_hanging(url: str, tmp_path: pathlib.Path) -> None:
    # Rank 0 writes a checkpoint for a while, and the others wait for it.
    script = ("import os, time\n"
              "end = time.monotonic() + 8\n"
              "while os.environ['RANK'] == '0' and time.monotonic() < end:\n"
              f"    with open(r'{tmp_path}/state', 'wb') as file:\n"
              "        for _ in range(20):\n"
              "            file.write(bytes(1 << 20))\n"
              "            time.sleep(0.05)\n"
              f"done = r'{tmp_path}/done'\n"
              "if os.environ['RANK'] == '0':\n"
              "    open(done, 'w').close()\n"
              "while not os.path.exists(done):\n"
              "    time.sleep(0.5)\n")
    p = muster.launch(python(script), tasks=4, on_hang="abort", hang_after=AFTER)
    assert p.wait(DEADLINE).state == "SUCCEEDED"
    assert [a["end"] for a in p.attempts()] == ["SUCCEEDED"]


# Rank 0 compiles the first step in a process of its own, and the others wait for it.
COMPILES = ("import os, subprocess, sys, time\n"
            "done = sys.argv[1]\n"
            "def first_step():\n"
            "    subprocess.run([sys.executable, '-c', 'import time; end, all = time.monotonic() + 7, []\\n'\n"
            "                    'while time.monotonic() < end: all.append(b\"x\" * (1 << 20)); sum(range(2000000))'],\n"
            "                   check=True)\n"
            "    open(done, 'w').close()\n"
            "if os.environ['RANK'] == '0':\n"
            "    first_step()\n"
            "while not os.path.exists(done):\n"
            "    time.sleep(0.5)\n")


@pytest.mark.parametrize("tasks", [2, 4])
def test_slow_first_step_is_not_a_hang(url: str, tmp_path: pathlib.Path, tasks: int) -> None:
    p = muster.launch([*python(COMPILES), str(tmp_path / "done")], tasks=tasks, on_hang="abort", hang_after=AFTER)
    assert p.wait(DEADLINE).state == "SUCCEEDED"
    assert [a["end"] for a in p.attempts()] == ["SUCCEEDED"]


@pytest.mark.parametrize(("words", "field"), [({"on_hang": "never"}, "on_hang"), ({"hang_after": "0.5s"}, "hang_after"),
                                              ({"hang_after": "100ms"}, "hang_after")])
def test_invalid_options_are_refused_with_the_name_of_the_field(url: str, words: dict[str, Any], field: str) -> None:
    with pytest.raises(muster.ServerError) as e:
        muster.launch(["true"], **words)
    assert e.value.field == field
