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
_LONG = "429 too many requests are waiting"
_PAST = "422 `to_ms` is earlier than `from_ms`", "429 too many history queries are waiting"
_NO_HISTORY = "409 the server does not store history"
_LAST = "409 the server does not manage its tokens, or this is the last admin token"

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
        "Lists the jobs and sessions of a cluster, newest first. `counts` contains the total number in each state.",
        (),
    ),
    "listWork": (
        "List jobs, sessions and programs",
        "Lists all runs of a cluster together. `facets` contains the number of runs by kind, state, user and label; each facet ignores the "
        "filter of the same facet. `matching` counts the runs on all pages. A request reads each run of the cluster once, at most about "
        "31,000.",
        ("422 `until_ms` is earlier than `since_ms`",),
    ),
    "getJob": ("Get a job", "", ()),
    "joinJob": ("Wait for a job", "Responds when the job has ended (`done` is true) or when `timeout` expires.", (_LONG,)),
    "streamResults": (
        "Stream the results of a job",
        "Sends one JSON object for each closure, in the order of submission. With `wait=true`, each "
        "line is sent when its closure has ended.",
        (),
    ),
    "listResults": ("List the results of a job", "Returns the same results in JSON pages. A page ends after 8 MiB.", ()),
    "listJobLogs": (
        "Get the log of a job",
        "Lists the log lines of all closures of the job, in order of arrival. See [Logs](history.md#logs-of-closures).",
        ("422 both `tail` and `after` are given", _LONG),
    ),
    "sealJob": ("Seal an open job", "Prevents clients from appending further closures. The job ends when all its closures have ended.", ()),
    "cancelJob": ("Cancel a job", "Cancels the unfinished closures of a job. For a session, only the current generation is cancelled.", ()),
    "retryJob": (
        "Retry a job",
        "Creates a new job from the failed and cancelled closures.",
        ("409 the job has not ended, has no failed closure, is a session, or has lost its arguments or inputs", _FULL, _DISK),
    ),
    "deleteJob": (
        "Delete a job",
        "Removes a finished job and its values, or ends a session whose client is disconnected.",
        ("409 the job has not ended",),
    ),
    "getGraph": (
        "Get the dependencies of a job",
        "Returns up to 2,000 closures as columns. `edges` refers to closures by position. Larger jobs are "
        "grouped by function. `complete` is false if the server reached its time limit for an answer.",
        (),
    ),
    "getJobDurations": ("Get the durations of a job", "See [Durations](#durations).", ()),
    "getJobTrace": ("Get the trace of a job", "Returns trace events for Perfetto or Chrome, with one process for each host.", ()),
    "listGangs": ("List waiting gangs", "Lists waiting gangs, oldest first, with the reason why each gang waits.", ()),
    "listWishes": ("List pending demand", "Lists requirements of queued closures that no connected worker satisfies.", ()),
    "listQueue": (
        "List the queue",
        "Lists waiting closures, gangs and programs in the order in which they start, with the reason why they wait. "
        "Closures with the same function, needs and priority are one entry. The order is an estimate, because jobs take "
        "turns. An entry without `position` cannot run on the connected workers. The cost does not depend on the number "
        "of closures. The server examines at most 20,000 queues, 1,000 gangs and 100 programs; `complete` is false if "
        "there are more. The queue changes between two pages.",
        (),
    ),
    "listPastJobs": (
        "List past jobs",
        "Lists ended jobs and sessions, including removed jobs and sessions, oldest first.",
        (_NO_HISTORY, *_PAST),
    ),
    # closures
    "listClosures": (
        "List the closures of a job",
        "Each request searches for about 250 ms. A page can therefore be short or empty, and still contain a "
        "`next_page_token`. `looked_at` is the number of examined closures.",
        ("422 the page token belongs to a different sort order",),
    ),
    "appendClosures": (
        "Append closures to an open job",
        "The body is NDJSON of any length, or a JSON array.",
        ("409 the job is sealed or has ended", _FULL, _DISK),
    ),
    "getClosure": ("Get a closure", "", ()),
    "explainClosure": (
        "Explain a closure",
        "Explains in a sentence, and with the code `reason`, why the closure is waiting, was moved or failed.",
        (),
    ),
    "listClosureLogs": (
        "Get the log of a closure",
        "Lists the log lines of all attempts of the closure. See [Logs](history.md#logs-of-closures).",
        ("422 both `tail` and `after` are given", _LONG),
    ),
    "listClosureStacks": (
        "Get the stacks of a closure's worker",
        "Returns the stack of each thread of the worker's process, within 2 s.",
        ("409 the closure is not running", "429 the worker is already serving two such requests"),
    ),
    "cancelClosure": ("Cancel a closure", "", ()),
    "listWorkerClosures": ("List the closures of a worker", "Lists running and prefetched closures.", ()),
    # values
    "listRemoteValues": (
        "List values",
        "Lists one value for each known closure.",
        ("422 the page token belongs to a different sort order",),
    ),
    "getRemoteValue": ("Get the status of a value", "", ()),
    "fetchValue": (
        "Get a value",
        "Waits until the value is ready, and returns the value.",
        (
            "409 the closure was cancelled, or its workers were lost",
            "422 the function has failed; see `failure`",
            _LONG,
            "504 the value was not ready in time",
        ),
    ),
    "previewValue": (
        "Preview a value",
        "Returns the first bytes of a value in memory, as JSON or hexadecimal digits, without waiting.",
        (),
    ),
    "listValueHolders": (
        "List jobs by the bytes of their values",
        "Lists jobs and sessions by the bytes of their values in memory, on disk and in blobs, largest first.",
        (),
    ),
    "getBlobs": (
        "Get the blob statistics",
        "`elsewhere` counts large values in the memory of workers and clients; `taken_bytes` counts transfers by path.",
        (),
    ),
    "putBlob": (
        "Store a blob",
        "Stores the request body as a blob. Status 200 means that the blob already existed.",
        (
            "413 the body is larger than 1 GiB",
            "422 the bytes do not match the SHA-256",
            "429 `--blob-bytes-max` is reached, or too many uploads are running",
            _DISK,
        ),
    ),
    "getBlob": (
        "Get a blob",
        "`HEAD` checks whether the blob exists, and returns its size.",
        ("404 the blob does not exist", "422 `offset` is beyond the end of the blob"),
    ),
    "createPerWorkerValue": (
        "Create a per-worker value",
        "Every worker that provides the function calls the function once and keeps the result.",
        (_FULL,),
    ),
    "listPerWorkerValues": ("List per-worker values", "", ()),
    "getPerWorkerValue": ("Get a per-worker value", "Returns the status of the value on each worker.", ()),
    "deletePerWorkerValue": ("Release a per-worker value", "Workers delete the value when no unfinished closure needs the value.", ()),
    # programs
    "submitProgram": (
        "Submit a program",
        "Runs a command as ranks on workers that allow programs. [Programs](../programs.md) describes the members of the request.",
        ("422 the program cannot run; `field` identifies the cause", "429 too many unfinished programs"),
    ),
    "listPrograms": ("List programs", "Lists programs, newest first.", ()),
    "getProgram": ("Get a program", "", ()),
    "listRanks": (
        "List the ranks of a program",
        "Lists the ranks of the last attempt. `last_lines=true` adds the newest line of each rank.",
        (),
    ),
    "listAttempts": ("List the attempts of a program", "", ()),
    "getAttempt": (
        "Get the record of an attempt",
        "Returns the failures, barriers and lost workers of an attempt, and the stacks and last lines of its ranks.",
        (),
    ),
    "getRankLog": (
        "Get the output of a rank",
        "See [Output of ranks](#output-of-ranks).",
        ("429 too many requests for output are waiting",),
    ),
    "listStacks": (
        "Get the stacks of a program",
        "Returns the stacks of all running ranks, within 2 s.",
        (),
    ),
    "getTimeline": ("Get the timeline of a program", "See [Timeline](#timeline).", _PAST),
    "stopProgram": (
        "Stop a program",
        'Asks all ranks to exit, immediately or at a step (`{"at_step": N}` or `{"at_step": "next"}`). The program '
        "succeeds if all ranks exit with status 0.",
        ("409 with `at_step`: the program is not running, or no rank reports steps",),
    ),
    "cancelProgram": ("Cancel a program", "Stops the ranks and ends the program.", ()),
    "restartProgram": (
        "Restart a program",
        "Stops the ranks and begins another attempt. The restart does not count towards `max_restarts`.",
        ("409 the program has ended or is ending",),
    ),
    "deleteProgram": ("Delete a program", "Removes an ended program.", ("409 the program has not ended",)),  # objects, datasets, functions
    "listObjects": ("List objects", "Lists objects, newest first. With tokens, you see your own objects; an admin sees all objects.", ()),
    "getObject": ("Get an object", "The path contains the object's id, or the object's name until the object is lost.", ()),
    "deleteObject": ("Delete an object", "Deletes an object. Unanswered method calls fail with CANCELLED.", ()),
    "listDatasets": (
        "List datasets",
        "Lists datasets, newest first. With tokens, you see your own datasets; an admin sees all datasets.",
        (),
    ),
    "getDataset": ("Get a dataset", "Returns the progress of the current epoch, and the workers that have drawn splits.", ()),
    "listFunctions": ("List functions", "Lists all functions that a worker has provided or a closure has requested.", ()),
    # clusters
    "listClusters": ("List clusters", "", ()),
    "createCluster": (
        "Declare a cluster",
        "`address` in the answer is the address for coordination clients. [Clusters](../clusters.md#settings) lists "
        "the members of the request.",
        ("409 the cluster exists", "422 a limit is exceeded", "429 too many clusters, or no free port"),
    ),
    "getCluster": ("Get a cluster", "Returns the cluster's settings, current run (`generation`) and previous runs (`past`).", ()),
    "deleteCluster": (
        "Delete a cluster",
        "Deletes a cluster. Waiting calls of the cluster's tasks fail.",
        ("409 the cluster is the main cluster, or has workers or open jobs",),
    ),
    "failCluster": (
        "Fail the run of a cluster",
        "All tasks receive the error. `code` is ABORTED by default. With `refuse_calls`, further calls are refused.",
        ("409 no task is registered, or the run has ended", "422 the message is too long"),
    ),
    "listRuns": ("List past runs of a cluster", "Lists previous runs, oldest first.", _PAST),
    # tasks
    "listTasks": ("List tasks", "Lists workers first, then coordination clients.", ()),
    "getTask": ("Get a task", "", ()),
    "cordonTask": (
        "Cordon a task",
        "The task receives no further closures, even if another worker takes its place. Running closures continue.",
        (),
    ),
    "uncordonTask": ("Uncordon a task", "", ()),
    "drainTask": ("Drain a worker", "The worker finishes its closures and disconnects.", ("409 the worker is not connected",)),
    "reportTaskError": (
        "Report the error of a task",
        "The other tasks receive the error. `code` is ABORTED by default.",
        ("409 the task is not connected, or already has an error", "422 the message is too long"),
    ),
    "listTaskStacks": (
        "Get the stacks of a worker",
        "Returns the stack of each thread of the worker's process, within 2 s.",
        ("429 the worker is already serving two such requests",),
    ),
    "listMachines": (
        "List machines",
        "Returns CPU, memory, GPUs, network and disks of the server and of workers.",
        ("409 a time is given, but the server does not store history", *_PAST),
    ),
    "listHosts": (
        "List hosts",
        "Returns the hosts of workers, with the machine's figures and the workers of each host. `slowness` compares a worker "
        "with the median of the workers.",
        (),
    ),
    # barriers
    "listBarriers": ("List barriers", "Lists running barriers first, then ended barriers, newest first.", ()),
    "getBarrier": ("Get a barrier", "Returns the tasks that have arrived, with their arrival times, and the missing tasks.", ()),
    "waitAtBarrier": (
        "Wait at a barrier",
        "Joins a barrier as a task that has no coordination client. If the client disconnects, the task is withdrawn.",
        (
            "409 the barrier failed, was cancelled, or has different participants",
            "422 the id is too long",
            _LONG,
            "504 not all tasks arrived in time; the error names the missing tasks",
        ),
    ),
    "cancelBarrier": ("Cancel a barrier", "Cancels a barrier. All waiting calls fail with CANCELLED.", ("409 the barrier has ended",)),
    "getStragglers": (
        "List stragglers",
        "Lists late arrivals at the newest 64 barriers of the current run, by barrier, task and host.",
        (),
    ),
    # keys
    "listKeys": ("List keys", "Lists keys in byte order.", ()),
    "getKey": (
        "Get a key",
        "With `timeout`, the request waits until the key exists.",
        ("409 the run has failed and refuses calls", _LONG, "504 the key was not set in time"),
    ),
    "putKey": (
        "Set a key",
        "The body is the value. With `If-None-Match: *`, an existing key is not overwritten. Status 201 means that the key is new.",
        ("409 the run has failed", "412 the key exists and `If-None-Match: *` was sent", "429 too many keys or bytes", _DISK),
    ),
    "deleteKey": ("Delete a key", "", ("409 the run has failed, or keys exist below the key and `recursive` is not true",)),
    "listKeyWaits": ("List waits for keys", "Lists tasks that are waiting for missing keys.", ()),
    # torch
    "getTorchStore": ("Get a TCPStore", "Returns the clients of the TCPStore, and the keys for which the clients are waiting.", ()),
    "listTorchKeys": ("List the keys of a TCPStore", "Lists keys in byte order.", ()),
    "beginTorchAttempt": (
        "Start a new attempt of a TCPStore",
        "New clients find an empty store. Connected clients keep the keys of their attempt.",
        (),
    ),
    # history
    "listEvents": (
        "List events",
        "Lists events, oldest first. Events before `first` were removed from memory; use `from_ms` or `to_ms` to read history.",
        ("422 `after` and a time are given, or `to_ms` is earlier than `from_ms`", _PAST[1]),
    ),
    "searchLogs": (
        "Search logs",
        "Searches the log lines of closures on disk, or the output of a program's ranks.",
        (_NO_HISTORY, "422 the text is too long, or a program is combined with a time, a job or a cluster", _PAST[1]),
    ),
    "getSamples": (
        "Get the server's metrics over time",
        "Returns a point for each second (`5m`), every 10 s (`1h`) or each minute (`24h`).",
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
    "getPastStream": ("Get the past activity of workers", "Returns activity from history, by default for one hour.", (_NO_HISTORY, *_PAST)),
    "getTaskHistory": ("Get a worker's last hour", "Returns the sums of each minute.", ()),
    # tokens
    "getSession": ("Get the caller", "", ()),
    "signIn": (
        "Sign in a browser",
        "Sets a session cookie.",
        ("401 the token is unknown, revoked or expired", "422 the token is too long"),
    ),
    "signOut": ("Sign out a browser", "Deletes the session and its cookie.", ()),
    "listTokens": ("List tokens", "Lists tokens without their secrets.", ()),
    "createToken": (
        "Create a token",
        "Only this answer contains the secret.",
        (_LAST, "422 the request is invalid; `field` identifies the cause", "429 too many tokens"),
    ),
    "rotateToken": (
        "Rotate a token",
        "Returns a new secret. The old secret becomes invalid immediately, and connections that use the old secret are closed.",
        (_LAST,),
    ),
    "revokeToken": ("Revoke a token", "The token becomes invalid immediately, and connections that use the token are closed.", (_LAST,)),
    # server
    "getOverview": ("Get the overview", "Returns key figures of the server or of one cluster.", ()),
    "listAttention": ("List alerts", "Lists one alert for each cause. An alert is removed when its cause has ended.", ()),
    "getServerHealth": ("Get the health of the server", "Durations in `_us` are microseconds, and cover the last minute.", ()),
    "getVersion": ("Get the version", "", ()),
    "readyz": (
        "Check readiness",
        "Status 200 means that the server accepts work.",
        ("503 the server is starting, is stopping or is a standby",),
    ),
    "livez": ("Check liveness", "Status 200 means that the process responds.", ()),
    "healthz": ("Check health", "Returns the same answer as `/readyz`.", ("503 the server is starting, is stopping or is a standby",)),
    "metrics": ("Get metrics", "Returns the metrics in Prometheus format. See [Metrics](../metrics.md) for the list.", ()),
    "getOpenapi": ("Get the OpenAPI description", "", ()),
    "getOpenapiV1": ("Get the OpenAPI description of v1", "", ()),
}

PARAMETERS: dict[str, str] = {
    "cluster": "name of a cluster; default: the main cluster",
    "limit": "maximum number of entries, 1 to 1,000; default 100",
    "page_token": "`next_page_token` of the previous page",
    "timeout": "maximum time to wait, at most 10 min; default 30 s",
    "wait": "maximum time to wait for the next line, at most 10 min",
    "after": "only lines with a number greater than this value; pass `after` from the previous answer",
    "tail": "number of newest lines to return; not with `after`",
    "from_ms": "start of the time range, Unix ms",
    "to_ms": "end of the time range, Unix ms",
    "q": "substring of the name or id; case is ignored",
    "state": "only this state",
    "sort": "sort key",
    "order": "`asc` (default) or `desc`",
    "job": "only this job",
    "prefix": "only keys with this prefix",
    "samples": "number of samples of the last hour, one every 5 s; a page with samples contains at most 50 machines",
    "streaming": "`true`: only sessions; `false`: only jobs",
    "from": "position of the first closure; default 0",
    "first": "position of the first closure in the job; closures that the job already contains are skipped",
    "function": "only closures of this function or display name",
    "worker": "only closures whose newest attempt is on this worker, for example `worker:3`",
    "status": "only values with this status",
    "error": "`true`: only errors; `false`: only values that are not errors",
    "place": "only values stored at this place; `none`: only closures without a value",
    "offset": "first byte",
    "bytes": "maximum number of bytes; default 4,096",
    "attempt": "number of the attempt; default: the last attempt",
    "rank": "rank number",
    "from_end": "`true`: `offset` counts from the end",
    "last_lines": "`true`: include the newest line of each rank; waits up to 1 s",
    "first_rank": "number of the first rank",
    "ranks": "number of ranks; default 256",
    "buckets": "maximum number of time buckets for summed steps; default 300",
    "task": "only this task, for example `worker:3`",
    "class": "only objects of this class",
    "session": "only objects that this session created",
    "force": "`true`: also delete a cluster with workers or jobs; its workers are disconnected, its jobs are lost",
    "kind": "`worker` or `agent`, if a worker and an agent have the same task name; default `agent`",
    "host": "only this host",
    "program": "only this program",
    "participants": "tasks of the barrier, for example `worker:0,worker:3`; default: all tasks",
    "delimiter": "return deeper keys as folders",
    "include_values": "`false`: omit the values",
    "recursive": "`true`: also delete all keys below the key",
    "subject": "only events of this task, barrier or worker",
    "severity": "only this severity",
    "text": "substring of a line, at most 256 bytes; default: all lines",
    "ignore_case": "`true`: ignore the case of a to z",
    "user": "only runs submitted with these token ids, separated by commas; `-`: without a token",
    "label": "only runs with these labels of the metadata, separated by commas, for example `team=ml` or `team`",
    "since_ms": "start of the time range, Unix ms",
    "until_ms": "end of the time range, Unix ms",
    "span": "time span: `5m` (default), `1h` or `24h`",
    "steps": "maximum number of points with `from_ms` or `to_ms`; default 300",
    "tasks": "only these tasks, for example `worker:0,worker:3`; at most 100",
    "Idempotency-Key": "header; see [Idempotency](../rest.md#idempotency)",
    "If-None-Match": "header; `*`: write the value only if the key does not exist",
}
"""By name. OPERATION_PARAMETERS has the exceptions."""

OPERATION_PARAMETERS: dict[str, dict[str, str]] = {
    "listAttention": {"cluster": "only this cluster; default: all clusters that you may view"},
    "listPastJobs": {"cluster": "only this cluster"},
    "searchLogs": {
        "cluster": "only this cluster",
        "attempt": "attempt of the program; default: the last attempt",
        "rank": "rank of the program; default: all ranks",
        "program": "search the output of this program's ranks",
    },
    "listMachines": {
        "cluster": "only this cluster",
        "program": "only machines of this program's hosts, one for each host",
        "job": "only machines of hosts that run or ran calls of this job or session, one for each host",
    },
    "getOverview": {"cluster": "only this cluster, without the server's uptime and rates"},
    "streamResults": {"wait": "`true`: send each line when its closure has ended"},
    "getKey": {"timeout": "maximum time to wait for the key, at most 10 min; default: no wait"},
    "waitAtBarrier": {"task": "required: task to join as, for example `worker:3`"},
    "listEvents": {
        "kind": "only events of this kind",
        "after": "only events with a number greater than this value; default: the newest events",
    },
    "getStream": {
        "after": "value of `next` in the previous answer",
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
    "listTorchKeys": {"attempt": "number of the attempt; default: the newest attempt"},
    "getTimeline": {"attempt": "number of the attempt; default: all attempts"},
    "listClosures": {
        "q": "substring of the function, the error or the id; case is ignored",
        "sort": "`index` (default), `started` or `duration`; closures that never started are last",
        "state": "only this state; UNFINISHED and ENDED_BADLY combine several states",
        "page_token": "`next_page_token` of the previous page, even if that page was empty",
    },
    "listRemoteValues": {
        "job": "only values of this job or session",
        "sort": "`age` (default) or `size`",
        "page_token": "`next_page_token` of the previous page, even if that page was empty",
    },
    "listWork": {
        "kind": "only these kinds, separated by commas: job, session, program",
        "state": "only these states of a job or program, separated by commas; UNFINISHED combines all states before the end",
        "since_ms": "only runs created at this time or later, Unix ms",
        "until_ms": "only runs created by this time, Unix ms",
        "q": "substring of the name or id; case is ignored",
        "sort": "`created` (default), `ended`, `duration`, `failed` or `name`",
        "order": "`desc` (default) or `asc`",
    },
    "listJobs": {"state": "only this state; UNFINISHED is QUEUED or RUNNING"},
    "getClosure": {"job": "session of the closure; needed if only a summary of the closure is stored"},
    "explainClosure": {"job": "session of the closure; needed if only a summary of the closure is stored"},
    "listTasks": {"job": "only tasks with this role"},
    "listObjects": {"task": "only objects of this task (`ps:0`) or role (`ps`)"},
}
