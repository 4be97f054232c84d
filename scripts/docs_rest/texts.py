"""Texts of the REST reference: a title and a description for each operation, its errors, and its parameters."""

from __future__ import annotations

PAGES = {
    "jobs": "Jobs",
    "closures": "Closures",
    "values": "Values and blobs",
    "programs": "Programs",
    "objects": "Objects",
    "datasets": "Datasets",
    "functions": "Functions",
    "clusters": "Clusters",
    "tasks": "Tasks and machines",
    "barriers": "Barriers",
    "keys": "Keys",
    "torch": "TCPStores",
    "history": "Events, logs and history",
    "tokens": "Tokens and sign-in",
    "server": "Server state",
}
"""The titles of the pages by tag, in the order of /openapi.json."""

_FULL = "429 the server, or the queue of the job, is full"
_DISK = "507 the disk is full"
_LONG = "429 too many requests wait"
_PAST = "422 `to_ms` is earlier than `from_ms`", "429 too many history queries wait"
_NO_HISTORY = "409 the server does not store history"
_LAST = "409 the server does not manage its tokens, or this is the last admin's token"

OPERATIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    # jobs
    "submitJob": (
        "Submit a job",
        "Creates a job from a list of closures, or from a `map` of one function over many arguments. A repeated "
        "[idempotency key](../rest.md#idempotency) returns the first job.",
        ("404 an input does not exist", "422 the job cannot be carried out; `field` identifies the cause", _FULL, _DISK),
    ),
    "listJobs": (
        "List jobs",
        "Lists the jobs and sessions of a cluster, newest first. `counts` has the number of all of them by state.",
        (),
    ),
    "getJob": ("Get a job", "", ()),
    "joinJob": ("Wait for a job", "Answers when the job has ended (`done` is true), or after `timeout`.", (_LONG,)),
    "streamResults": (
        "Stream the results of a job",
        "Sends one JSON object for each closure, in the order of submission. With `wait=true` each "
        "line is sent when its closure has ended.",
        (),
    ),
    "listResults": ("List the results of a job", "The same as JSON. A page ends after 8 MiB.", ()),
    "listJobLogs": (
        "Get the log of a job",
        "Lists the lines of all its closures in order of arrival. See [Logs](history.md#logs-of-closures).",
        ("422 both `tail` and `after` are given", _LONG),
    ),
    "sealJob": ("Seal an open job", "No further closures can be appended. The job ends when its closures have ended.", ()),
    "cancelJob": ("Cancel a job", "Cancels the closures that have not ended. For a session it cancels the current generation.", ()),
    "retryJob": (
        "Retry a job",
        "Creates a new job of the failed and cancelled closures.",
        ("409 the job has not ended, nothing has failed, it is a session, or its arguments or inputs are gone", _FULL, _DISK),
    ),
    "deleteJob": (
        "Delete a job",
        "Removes a finished job and its values, or ends a session whose client is away.",
        ("409 it has not ended",),
    ),
    "getGraph": (
        "Get the dependencies of a job",
        "Returns up to 2,000 closures as columns, with `edges` by position. Larger jobs are grouped by "
        "function. `complete` is false if the time of one answer was too short.",
        (),
    ),
    "getJobDurations": ("Get the durations of a job", "See [Durations](#durations).", ()),
    "getJobTrace": ("Get the trace of a job", "Returns trace events for Perfetto or Chrome, one process for each host.", ()),
    "listGangs": ("List waiting gangs", "Lists gangs that wait, oldest first, with the reason.", ()),
    "listWishes": ("List pending demand", "Lists demands of queued closures that no connected worker satisfies.", ()),
    "listPastJobs": ("List past jobs", "Lists jobs and sessions that have ended, also removed ones, oldest first.", (_NO_HISTORY, *_PAST)),
    # closures
    "listClosures": (
        "List the closures of a job",
        "The server searches for about 250 ms. A page can be short or empty and still have a "
        "`next_page_token`. `looked_at` is the number of examined closures.",
        ("422 the page token has another order",),
    ),
    "appendClosures": (
        "Append closures to an open job",
        "The body is NDJSON of any length, or a JSON array.",
        ("409 the job is sealed or has ended", _FULL, _DISK),
    ),
    "getClosure": ("Get a closure", "", ()),
    "explainClosure": ("Explain a closure", "Reports why it waits, was moved or failed: a sentence, and `reason` for programs.", ()),
    "listClosureLogs": (
        "Get the log of a closure",
        "Lists the lines of all its attempts. See [Logs](history.md#logs-of-closures).",
        ("422 both `tail` and `after` are given", _LONG),
    ),
    "listClosureStacks": (
        "Get the stacks of a closure's worker",
        "Shows in which line the worker's process is, within 2 s.",
        ("409 the closure does not run", "429 its worker serves two such requests already"),
    ),
    "cancelClosure": ("Cancel a closure", "", ()),
    "listWorkerClosures": ("List the closures of a worker", "Lists running and prefetched closures.", ()),
    # values
    "listRemoteValues": ("List values", "Lists one value for each known closure.", ("422 the page token has another order",)),
    "getRemoteValue": ("Get the status of a value", "", ()),
    "fetchValue": (
        "Get a value",
        "Waits until the value is ready.",
        ("409 it was cancelled, or its workers were lost", "422 the function has failed; see `failure`", _LONG, "504 not ready in time"),
    ),
    "previewValue": ("Preview a value", "Returns the first bytes of a value in memory: JSON, or hexadecimal digits. It does not wait.", ()),
    "listValueHolders": (
        "List jobs by the bytes of their values",
        "Lists jobs and sessions with the most bytes first, in memory, on disk and as blobs.",
        (),
    ),
    "getBlobs": (
        "Get the blob statistics",
        "`elsewhere` counts large values in the memory of workers and clients; `taken_bytes` counts transfers by path.",
        (),
    ),
    "putBlob": (
        "Store a blob",
        "200: it existed already.",
        ("413 more than 1 GiB", "422 the bytes do not match the SHA-256", "429 `--blob-bytes-max` is in use, or too many uploads", _DISK),
    ),
    "getBlob": (
        "Get a blob",
        "`HEAD` returns whether it exists, and its size.",
        ("404 it does not exist", "422 `offset` is beyond the end of the blob"),
    ),
    "createPerWorkerValue": (
        "Create a per-worker value",
        "Every worker that has the function calls it once and keeps the result.",
        (_FULL,),
    ),
    "listPerWorkerValues": ("List per-worker values", "", ()),
    "getPerWorkerValue": ("Get a per-worker value", "Returns its status on each worker.", ()),
    "deletePerWorkerValue": ("Release a per-worker value", "Workers delete it when no unfinished closure needs it.", ()),
    # programs
    "submitProgram": (
        "Submit a program",
        "Runs a command as ranks on workers that allow programs. [Programs](../programs.md) describes the members of the request.",
        ("422 it cannot be carried out; `field` identifies the cause", "429 too many unfinished programs"),
    ),
    "listPrograms": ("List programs", "Newest first.", ()),
    "getProgram": ("Get a program", "", ()),
    "listRanks": ("List the ranks of a program", "Ranks of the last attempt. `last_lines=true` adds the newest line of each rank.", ()),
    "listAttempts": ("List the attempts of a program", "", ()),
    "getAttempt": (
        "Get the record of an attempt",
        "Returns failures, late barriers, lost workers, stacks of killed ranks and last lines.",
        (),
    ),
    "getRankLog": ("Get the output of a rank", "See [Output of ranks](#output-of-ranks).", ("429 too many requests for output wait",)),
    "listStacks": ("Get the stacks of a program", "Shows in which line each live rank is, within 2 s.", ()),
    "getTimeline": ("Get the timeline of a program", "See [Timeline](#timeline).", _PAST),
    "stopProgram": (
        "Stop a program",
        'Asks all ranks to exit, at once or at a step: `{"at_step": N}` or `{"at_step": "next"}`. The program '
        "succeeds if all of them exit with 0.",
        ("409 with `at_step`: the program is not running, or no rank reports steps",),
    ),
    "cancelProgram": ("Cancel a program", "Stops the ranks and ends the program.", ()),
    "restartProgram": (
        "Restart a program",
        "Stops its ranks and starts them again. The restart is not counted.",
        ("409 it has ended, or is ending",),
    ),
    "deleteProgram": ("Delete a program", "Removes an ended program.", ("409 it has not ended",)),
    # objects, datasets, functions
    "listObjects": ("List objects", "Newest first. With tokens you see your own objects; an admin sees all.", ()),
    "getObject": ("Get an object", "Its id, or its name until it is lost.", ()),
    "deleteObject": ("Delete an object", "Unanswered method calls fail with CANCELLED.", ()),
    "listDatasets": ("List datasets", "Newest first. With tokens you see your own datasets; an admin sees all.", ()),
    "getDataset": ("Get a dataset", "Returns the progress of its epoch, and the workers that draw splits.", ()),
    "listFunctions": ("List functions", "Lists all functions that a worker has provided or a closure has named.", ()),
    # clusters
    "listClusters": ("List clusters", "", ()),
    "createCluster": (
        "Declare a cluster",
        "`address` in the answer is the address for coordination clients. [Clusters](../clusters.md#settings) lists the members.",
        ("409 the cluster exists", "422 a limit is exceeded", "429 too many clusters, or no free port"),
    ),
    "getCluster": ("Get a cluster", "Returns its settings, its current run (`generation`) and previous runs (`past`).", ()),
    "deleteCluster": (
        "Delete a cluster",
        "Waiting calls of its tasks end with an error.",
        ("409 it is the main cluster, or has workers or open jobs",),
    ),
    "failCluster": (
        "Fail the run of a cluster",
        "All tasks receive the error. `code` is ABORTED by default; with `refuse_calls` further calls are refused.",
        ("409 no task is registered, or the run has ended", "422 the message is too long"),
    ),
    "listRuns": ("List past runs of a cluster", "Oldest first.", _PAST),
    # tasks
    "listTasks": ("List tasks", "Workers first, then coordination clients.", ()),
    "getTask": ("Get a task", "", ()),
    "cordonTask": ("Cordon a task", "The task gets no further closures, whichever worker serves it. Running closures continue.", ()),
    "uncordonTask": ("Uncordon a task", "", ()),
    "drainTask": ("Drain a worker", "The worker finishes its closures and leaves.", ("409 it is not connected",)),
    "reportTaskError": (
        "Report the error of a task",
        "The other tasks receive the error. `code` is ABORTED by default.",
        ("409 the task is not connected, or has an error already", "422 the message is too long"),
    ),
    "listTaskStacks": (
        "Get the stacks of a worker",
        "Shows in which line the worker's process is, within 2 s.",
        ("429 it serves two such requests already",),
    ),
    "listMachines": (
        "List machines",
        "Returns CPU, memory, GPUs, network and disks of the server and of workers.",
        ("409 with a time: the server does not store history", *_PAST),
    ),
    # barriers
    "listBarriers": ("List barriers", "Running barriers first, then ended ones, newest first.", ()),
    "getBarrier": ("Get a barrier", "Returns all tasks that arrived, with the time, and all missing tasks.", ()),
    "waitAtBarrier": (
        "Wait at a barrier",
        "Joins a barrier as a task that has no coordination client. Disconnecting withdraws the task.",
        (
            "409 the barrier failed, was cancelled, or has other participants",
            "422 the id is too long",
            _LONG,
            "504 not all tasks arrived in time; the error names the missing ones",
        ),
    ),
    "cancelBarrier": ("Cancel a barrier", "All waiting calls end with CANCELLED.", ("409 it has ended",)),
    "getStragglers": ("List stragglers", "Reports by barrier, task and host who arrived late at the newest 64 barriers of this run.", ()),
    # keys
    "listKeys": ("List keys", "In byte order.", ()),
    "getKey": (
        "Get a key",
        "With `timeout` the call waits until the key exists.",
        ("409 the run has failed and refuses calls", _LONG, "504 the key was not set in time"),
    ),
    "putKey": (
        "Set a key",
        "The body is the value. `If-None-Match: *` sets only a new key. 201: the key is new.",
        ("409 the run has failed", "412 the key exists and `If-None-Match: *` was sent", "429 too many keys or bytes", _DISK),
    ),
    "deleteKey": ("Delete a key", "", ("409 the run has failed, or the key has keys below it and `recursive` is not true",)),
    "listKeyWaits": ("List waits for keys", "Lists tasks that are waiting for missing keys.", ()),
    # torch
    "getTorchStore": ("Get a TCPStore", "Returns its clients, and the keys that they wait for.", ()),
    "listTorchKeys": ("List the keys of a TCPStore", "In byte order.", ()),
    "beginTorchAttempt": (
        "Start a new attempt of a TCPStore",
        "New clients find an empty store. Connected clients keep the keys of their attempt.",
        (),
    ),
    # history
    "listEvents": (
        "List events",
        "Oldest first. Events before `first` were removed from memory; use `from_ms` or `to_ms` to read history.",
        ("422 `after` and a time are given, or `to_ms` is earlier than `from_ms`", _PAST[1]),
    ),
    "searchLogs": (
        "Search logs",
        "Finds lines of closures on the disk, or of the ranks of a program.",
        (_NO_HISTORY, "422 the text is too long, or a program is combined with a time, a job or a cluster", _PAST[1]),
    ),
    "getSamples": (
        "Get the server's metrics over time",
        "A point for each second (`5m`), 10 s (`1h`) or minute (`24h`).",
        (_NO_HISTORY, *_PAST),
    ),
    "getStream": (
        "Get the activity of workers",
        "See [Activity](#activity-of-workers).",
        ("422 `to_ms` is earlier than `from_ms`, or too many tasks",),
    ),
    "getStreamTrace": (
        "Get the trace of workers",
        "Returns trace events for Perfetto or Chrome.",
        ("422 `to_ms` is earlier than `from_ms`, or too many tasks",),
    ),
    "getPastStream": ("Get the past activity of workers", "Reads history, an hour by default.", (_NO_HISTORY, *_PAST)),
    "getTaskHistory": ("Get a worker's last hour", "Sums for each minute.", ()),
    # tokens
    "getSession": ("Get the caller", "", ()),
    "signIn": (
        "Sign in a browser",
        "Sets a session cookie.",
        ("401 the token is unknown, revoked or expired", "422 the token is too long"),
    ),
    "signOut": ("Sign out a browser", "Deletes the session and its cookie.", ()),
    "listTokens": ("List tokens", "Without their secrets.", ()),
    "createToken": (
        "Create a token",
        "Only this answer contains the secret.",
        (_LAST, "422 `field` identifies the cause", "429 too many tokens"),
    ),
    "rotateToken": ("Rotate a token", "Returns a new secret. The old one becomes invalid at once, with everything that uses it.", (_LAST,)),
    "revokeToken": ("Revoke a token", "The token becomes invalid at once, with everything that uses it.", (_LAST,)),
    # server
    "getOverview": ("Get the overview", "Figures of the server, or of one cluster.", ()),
    "listAttention": ("List alerts", "One entry for each cause. It is removed when the cause has ended.", ()),
    "getVersion": ("Get the version", "", ()),
    "readyz": ("Check readiness", "200: the server accepts work.", ("503 it starts, stops or is a standby",)),
    "livez": ("Check liveness", "200: the process answers.", ()),
    "healthz": ("Check health", "The same as `/readyz`.", ("503 it starts, stops or is a standby",)),
    "metrics": ("Get metrics", "In Prometheus format. [Metrics](../metrics.md) lists them.", ()),
    "getOpenapi": ("Get the OpenAPI description", "", ()),
    "getOpenapiV1": ("Get the OpenAPI description of v1", "", ()),
}

PARAMETERS: dict[str, str] = {
    "cluster": "name of a cluster; default: the main cluster",
    "limit": "maximum number of entries, 1 to 1,000; default 100",
    "page_token": "`next_page_token` of the previous page",
    "timeout": "maximum time to wait, at most 10 min; default 30 s",
    "wait": "without a new line, wait this long for the next one, at most 10 min",
    "after": "only lines with a larger number: `after` of the previous answer",
    "tail": "the newest lines, this many; not with `after`",
    "from_ms": "not before this time, Unix ms",
    "to_ms": "not after this time, Unix ms",
    "q": "substring of the name or id; case is ignored",
    "state": "only this state",
    "sort": "sort key",
    "order": "`asc` (default) or `desc`",
    "job": "only this job",
    "prefix": "only keys with this prefix",
    "samples": "number of samples of the last hour, one for 5 s; a page then has at most 50 machines",
    "streaming": "`true`: only sessions; `false`: only jobs",
    "from": "position of the first closure; default 0",
    "first": "position of the first closure in the job; closures that the job already has are skipped",
    "function": "only closures of this function or display name",
    "worker": "only closures whose newest attempt is on this worker, `worker:3`",
    "status": "only values with this status",
    "error": "`true`: only errors; `false`: only values that are not errors",
    "place": "only values at this place; `none`: no value",
    "offset": "first byte",
    "bytes": "maximum number of bytes; default 4,096",
    "attempt": "number of the attempt; default: the last one",
    "rank": "rank number",
    "from_end": "`true`: `offset` counts from the end",
    "last_lines": "`true`: include the newest line of each rank; waits up to 1 s",
    "first_rank": "number of the first rank",
    "ranks": "number of ranks; default 256",
    "buckets": "maximum number of time buckets, if steps are added up; default 300",
    "task": "only this task, `worker:3`",
    "class": "only objects of this class",
    "session": "only objects that this session created",
    "force": "`true`: also with workers, which are disconnected, and jobs, which are lost",
    "kind": "`worker` or `agent`, if both have a task with this name; default `agent`",
    "host": "only this host",
    "program": "only this program",
    "participants": "tasks of the barrier, `worker:0,worker:3`; default: all tasks",
    "delimiter": "show deeper keys as folders",
    "include_values": "`false`: leave out the values",
    "recursive": "`true`: also all keys below it",
    "subject": "only events of this task, barrier or worker",
    "severity": "only this severity",
    "text": "substring of a line, at most 256 bytes; default: all lines",
    "ignore_case": "`true`: ignore the case of a to z",
    "span": "`5m` (default), `1h` or `24h`",
    "steps": "maximum number of points with `from_ms` or `to_ms`; default 300",
    "tasks": "only these tasks, `worker:0,worker:3`; at most 100",
    "Idempotency-Key": "header; see [Idempotency](../rest.md#idempotency)",
    "If-None-Match": "header; `*`: write the value only if the key does not exist",
}
"""By name. OPERATION_PARAMETERS has the exceptions."""

OPERATION_PARAMETERS: dict[str, dict[str, str]] = {
    "listAttention": {"cluster": "only this cluster; default: all that you may view"},
    "listPastJobs": {"cluster": "only this cluster"},
    "searchLogs": {
        "cluster": "only this cluster",
        "attempt": "attempt of the program; default: the last one",
        "rank": "rank of the program; default: all",
        "program": "search the output of this program's ranks",
    },
    "listMachines": {"cluster": "only this cluster", "program": "one machine of each host of this program"},
    "getOverview": {"cluster": "only this cluster, without the server's uptime and rates"},
    "streamResults": {"wait": "`true`: send each line when its closure has ended"},
    "getKey": {"timeout": "wait this long for the key, at most 10 min; default: no wait"},
    "waitAtBarrier": {"task": "task to join as, `worker:3`; required"},
    "listEvents": {"after": "only events with a larger number; default: the newest ones"},
    "getStream": {
        "after": "`next` of the previous answer",
        "limit": "maximum number of bars; default 50,000",
        "from_ms": "only bars that ended at this time or later, Unix ms",
        "to_ms": "only bars that began by this time, Unix ms",
    },
    "getStreamTrace": {
        "from_ms": "only bars that ended at this time or later, Unix ms",
        "to_ms": "only bars that began by this time, Unix ms",
    },
    "listValueHolders": {"limit": "maximum number of entries; default 20"},
    "getRankLog": {"bytes": "maximum number of bytes; default 65,536", "offset": "first byte; default 0"},
    "listTorchKeys": {"attempt": "number of the attempt; default: the newest one"},
    "getTimeline": {"attempt": "number of the attempt; default: all"},
    "listClosures": {
        "q": "substring of the function, the error or the id; case is ignored",
        "sort": "`index` (default), `started` or `duration`; closures without the value are last",
        "state": "only this state; UNFINISHED and ENDED_BADLY combine several",
        "page_token": "`next_page_token` of the previous page, also if that page was empty",
    },
    "listRemoteValues": {
        "job": "only values of this job or session",
        "sort": "`age` (default) or `size`",
        "page_token": "`next_page_token` of the previous page, also if that page was empty",
    },
    "listJobs": {"state": "only this state; UNFINISHED is QUEUED or RUNNING"},
    "getClosure": {"job": "session of the closure; finds a remembered row"},
    "explainClosure": {"job": "session of the closure; finds a remembered row"},
    "listTasks": {"job": "only tasks with this role"},
    "listObjects": {"task": "only objects of this task, or of a role: `ps:0`, `ps`"},
}
