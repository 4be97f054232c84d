#!/usr/bin/env python3
"""Checks that clients generated from /openapi.json with default settings can submit jobs and read results.

  clients.py MUSTER FOLDER

Installs openapi-python-client and openapi-typescript into FOLDER, which is reused. Part of scripts/nightly, because the
packages are downloaded from registries and change.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

USE_PYTHON = """
import json, sys, time
from muster_client import Client
from muster_client.api.closures import append_closures
from muster_client.api.jobs import get_job, list_results, seal_job, stream_results, submit_job
from muster_client.api.tasks import list_tasks
from muster_client.api.values import fetch_value
from muster_client.models import Closure, ListTasksState, ResultLine, Submission

client = Client(base_url=sys.argv[1])
tasks = list_tasks.sync("default", client=client, state=ListTasksState.CONNECTED)
assert len(tasks.tasks) == 1, tasks
made = submit_job.sync(client=client, body=Submission(
    name="generated", closures=[Closure(function="muster.echo", args=[{"deep": [1, 2.5, "x"]}])]))
while (job := get_job.sync(made.id, client=client)).state in ("QUEUED", "RUNNING"):
    time.sleep(0.05)
assert job.state == "SUCCEEDED", job
value = fetch_value.sync_detailed(made.closures[0].remote_value, client=client)
assert json.loads(value.content) == {"deep": [1, 2.5, "x"]}, value.content
opened = submit_job.sync(client=client, body=Submission(name="open", open_=True, closures=[]))
append_closures.sync(opened.id, client=client, body=[Closure(function="muster.echo", args=[n]) for n in range(3)])
seal_job.sync(opened.id, client=client)
while get_job.sync(opened.id, client=client).state == "RUNNING":
    time.sleep(0.05)
page = list_results.sync(opened.id, client=client)
assert [line.value for line in page.results] == [0, 1, 2], page
streamed = stream_results.sync_detailed(opened.id, client=client).content.splitlines()
assert [ResultLine.from_dict(json.loads(line)).value for line in streamed] == [0, 1, 2], streamed
"""
USE_TYPESCRIPT = """
import createClient from "openapi-fetch";
import type { paths } from "./api";

const client = createClient<paths>({ baseUrl: process.argv[2] });
const made = await client.POST("/api/v1/jobs", {
  body: { name: "generated", closures: [{ function: "muster.echo", args: [{ deep: [1, 2.5, "x"] }] }] },
});
if (!made.data) throw new Error(JSON.stringify(made.error));
const results = await client.GET("/api/v1/jobs/{id}/results", {
  params: { path: { id: made.data.id }, query: { wait: true } }, parseAs: "text",
});
const line = JSON.parse(String(results.data));
if (line.value.deep[1] !== 2.5) throw new Error(String(results.data));
const refused = await client.POST("/api/v1/jobs", { body: { closures: [{ function: "" }] } });
if (refused.error?.field !== "closures[0].function") throw new Error(JSON.stringify(refused.error));
"""


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600, **more)
    if done.returncode:
        sys.exit(f"clients: {words[0]} {words[1]}…: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def python_client(folder, description, url):
    environment = folder / "python"
    if not (environment / "ready").exists():
        run(sys.executable, "-m", "venv", environment)
        run(environment / "bin/pip", "install", "--quiet", "openapi-python-client", "httpx", "attrs")
        (environment / "ready").touch()
    made = folder / "python-client"
    done = run(environment / "bin/openapi-python-client", "generate", "--path", description, "--meta", "none",
               "--overwrite", "--output-path", made / "muster_client")
    said = done.stdout + done.stderr
    assert "Unable" not in said and "will not be generated" not in said, said  # the generator omitted parts
    run(environment / "bin/python", "-c", USE_PYTHON, url, env={**os.environ, "PYTHONPATH": str(made)})


def typescript_client(folder, description, url):
    here = folder / "typescript"
    here.mkdir(exist_ok=True)
    if not (here / "node_modules").exists():
        (here / "package.json").write_text('{"type": "module", "private": true}')
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "openapi-typescript@7", "openapi-fetch",
            "typescript@5", "@types/node@22", "esbuild", cwd=here)
    run("npx", "openapi-typescript", description, "-o", "api.d.ts", cwd=here)
    (here / "use.ts").write_text(USE_TYPESCRIPT)
    run("npx", "tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "es2022", "--moduleResolution",
        "bundler", "use.ts", cwd=here)
    run("npx", "esbuild", "use.ts", "--bundle", "--platform=node", "--format=esm", "--outfile=use.mjs", cwd=here)
    run("node", "use.mjs", url, cwd=here)


def main():
    muster, folder = sys.argv[1], pathlib.Path(sys.argv[2]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        ready = pathlib.Path(temporary, "ready.json")
        server = subprocess.Popen([muster, "serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file",
                                   ready, "--log-level", "warn"])
        worker = None
        try:
            end = time.monotonic() + 20
            while not (ready.exists() and ready.stat().st_size):
                assert server.poll() is None and time.monotonic() < end, "the server has not started"
                time.sleep(0.02)
            told = json.loads(ready.read_text())
            url = "http://" + told["http"]
            worker = subprocess.Popen([muster, "worker", "--server", told["grpc"]], stderr=subprocess.DEVNULL)
            with urllib.request.urlopen(url + "/openapi.json", timeout=20) as answer:
                (folder / "openapi.json").write_bytes(answer.read())
            while not json.load(urllib.request.urlopen(
                    url + "/api/v1/clusters/default/tasks?state=connected", timeout=20))["tasks"]:
                assert time.monotonic() < end, "the worker has not attached"
                time.sleep(0.02)
            python_client(folder, folder / "openapi.json", url)
            typescript_client(folder, folder / "openapi.json", url)
        finally:
            for process in (worker, server):
                if process:
                    process.terminate()
                    process.wait(30)
    print("clients: those of openapi-python-client and openapi-typescript submit and read")


main()
