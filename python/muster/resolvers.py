"""Cluster resolvers with TensorFlow's interface. See `resolver`."""
from __future__ import annotations

import http.server
import json
import os
import secrets
import subprocess
import threading
from typing import Any, Callable, Mapping, Sequence
from urllib.parse import unquote

from muster import _program
from muster.distribute.cluster import cluster_of
from muster.errors import MusterError

_USAGE, _UNREACHABLE = 2, 3
"""Exit statuses of ``muster resolve``."""
_OF_MUSTER_RUN = ("MUSTER_TASK", "MUSTER_MASTER", "MUSTER_COORDINATOR")
"""Variables of `muster run` that ``muster resolve`` would read as options."""


class ResolverError(MusterError, RuntimeError):
    """Raised if the cluster does not exist, is not ready or cannot be read, or if the cluster's service cannot be
    reached.

    The message is the error message of ``muster resolve``.

    Attributes:
        unreachable: Whether the service failed to answer. If True, the request can be repeated.
    """

    def __init__(self, text: str, unreachable: bool = False) -> None:
        super().__init__(text)
        self.unreachable = unreachable


def resolver(text: str, *, credentials: Any = None, service: Any = None,
             list_devices: Callable[[], Sequence[str]] | None = None,
             start_coordinator: Callable[[str], int] | None = None,
             environment: Mapping[str, str] | None = None) -> Resolver:
    """Creates a cluster resolver from a string such as ``"tf-config"``, ``"slurm"`` or
    ``"tpu:name=my-tpu;zone=us-central1-b"``.

    ``muster resolve`` accepts the same strings; docs/resolvers.md lists the kinds and their keys. The resolver runs the
    program ``muster`` for each request.

    Args:
        text: The kind of the resolver and its keys. The first request is sent when a method is called.
        credentials: Credentials for kinds with the key ``token_file``: a token, a callable that returns a token, or a
            credentials object of google-auth (``refresh`` and ``token``) or oauth2client (``get_access_token``). For
            each request, the token is read and passed to the program in a private in-memory file. None or ``"default"``
            means the default credentials, which docs/resolvers.md lists.
        service: Service object for a TPU, as returned by ``googleapiclient.discovery.build("tpu", "v1")``, or an object
            with the same methods. The service object replaces direct requests to the API, and has its own credentials.
        list_devices: Function that returns device names such as ``"/job:worker/replica:0/task:0/device:TPU:0"``, for
            example the names from ``tf.config.list_logical_devices()``. ``num_accelerators`` counts these devices.
        start_coordinator: Function for a TPU with ``coordinator_name`` and without ``coordinator_address``. The
            function is called once, with the address at which the TPU reaches this machine. The function must start the
            coordinator at this address and return the coordinator's port.
        environment: Mapping to use instead of ``os.environ``.

    Returns:
        The resolver.

    Raises:
        FileNotFoundError: The program ``muster`` was not found.

    Example:
        ```python
        muster.resolver("slurm").cluster_spec()
        ```
    """
    return Resolver(text, credentials, service, list_devices, start_coordinator, environment)


class Resolver:
    """A cluster resolver with the same members as TensorFlow's resolvers.

    Each method call reads the cluster again, and can block for up to the ``time_limit`` of the resolver kind. Methods
    can be called from any thread. All methods raise ValueError if the resolver string is invalid, and ResolverError for
    all other errors.
    """

    def __init__(self, text: str, credentials: Any, service: Any, list_devices: Callable[[], Sequence[str]] | None,
                 start_coordinator: Callable[[str], int] | None, environment: Mapping[str, str] | None) -> None:
        self._text = text
        self._credentials = None if isinstance(credentials, str) and credentials == "default" else credentials
        self._service = service
        self._list_devices = list_devices
        self._start_coordinator = start_coordinator
        self._environment = environment
        self._program = _program.find()
        self._lock = threading.Lock()  # protects the fields below
        self._coordinator = ""
        self._set: dict[str, Any] = {}

    def cluster_spec(self) -> Any:
        """Returns the tasks of the cluster, for example ``{"worker": {0: "host:port"}}``. The result is empty if the
        program runs without a cluster.
        """
        return cluster_of(self._ask([]), "resolver")

    def master(self, task_type: str | None = None, task_id: int | None = None,
               rpc_layer: str | None = None) -> str:
        """Returns the master address of a task, for example ``"grpc://host:port"``.

        Args:
            task_type: Job of the task. None means the job of this process.
            task_id: Index of the task. None means the index of this process.
            rpc_layer: Protocol, which precedes ``://``. If empty, only the address is returned. None means the
                resolver's default protocol.
        """
        kind = self._set.get("task_type") if task_type is None else task_type
        index = self._set.get("task_id") if task_id is None else task_id
        layer = self._set.get("rpc_layer") if rpc_layer is None else rpc_layer
        words = ["--master", *_of(kind, index)]
        if layer is not None:
            words += ["--rpc-layer", layer or "none"]
        return str(self._ask(words)["master"])

    def get_master(self) -> str:
        """Returns ``master()``."""
        return self.master()

    def num_accelerators(self, task_type: str | None = None, task_id: int | None = None,
                         config_proto: Any = None) -> dict[str, int]:
        """Returns the number of accelerators of each type, for example ``{"GPU": 8}``.

        For a TPU, the result counts the accelerators of one host. Otherwise the result counts the accelerators of the
        given task, or of all tasks if no task is given.

        Args:
            task_type: Job of the task. None means all jobs.
            task_id: Index of the task. None means all tasks.
            config_proto: Ignored.
        """
        words = ["--accelerators", *_of(task_type, task_id)]
        names = None
        if self._list_devices is not None:
            names = "\n".join(self._list_devices())
            words += ["--devices", "-"]
        counted: dict[str, int] = self._ask(words, names)
        return counted

    def health(self) -> dict[str, Any]:
        """Returns the state of a TPU as a dict, in the format of ``muster resolve --health``. Its members include
        ``state``, ``health``, ``recoverable`` and ``endpoints``.
        """
        found: dict[str, Any] = self._ask(["--health"])
        return found

    @property
    def task_type(self) -> str | None:
        """The job of this process, or None if the job is unknown. Can be set."""
        found: str | None = self._own("task_type", lambda own: own["task"]["type"])
        return found

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._set["task_type"] = value

    @property
    def task_id(self) -> int | None:
        """The index of this process in its job, or None if the index is unknown. Can be set."""
        found: int | None = self._own("task_id", lambda own: own["task"]["index"])
        return found

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._set["task_id"] = value

    @property
    def rpc_layer(self) -> str | None:
        """The protocol, which precedes ``://`` in a master address. Can be set."""
        return str(self._own("rpc_layer", lambda own: own["rpc_layer"]))

    @rpc_layer.setter
    def rpc_layer(self, value: str | None) -> None:
        self._set["rpc_layer"] = value or ""

    @property
    def environment(self) -> str:
        """The environment of this process: ``""`` or ``"google"``."""
        return str(self._own("environment", lambda own: own["environment"]))

    def get_job_name(self) -> str | None:
        """Returns ``task_type``."""
        return self.task_type

    def __deepcopy__(self, memo: Any) -> Resolver:
        """Returns the object itself, as TensorFlow's resolver does."""
        return self

    def __repr__(self) -> str:
        return f"<muster.Resolver {self._text.partition(';')[0]}>"

    def _own(self, name: str, read: Callable[[Any], Any]) -> Any:
        return self._set[name] if name in self._set else read(self._ask(["--task"]))

    def _ask(self, words: list[str], text: str | None = None) -> Any:
        with self._lock:
            if self._start_coordinator is not None and not self._coordinator:
                where = self._run(["--coordinator"], self._text)["coordinator"]
                host = where.rpartition(":")[0]
                self._coordinator = f"{host}:{self._start_coordinator(host.strip('[]'))}"
        return self._run(words, _with(self._text, coordinator_address=self._coordinator), text)

    def _run(self, words: list[str], kind: str, text: str | None = None) -> Any:
        """Runs ``muster resolve`` and returns its parsed output. Raises ValueError or ResolverError."""
        with _Served(self._service) as served, _Secret(self._token()) as secret:
            if self._service is not None:
                kind = _with(kind, api_url=served.url, discovery_url="")
            kind = _with(kind, token_file=secret.path)
            asked = os.environ if self._environment is None else self._environment
            # The kind is passed in an environment variable, because other users can read the arguments of a process.
            done = subprocess.run(
                [self._program, "resolve", "--output", "json", *words], input=text or "", text=True,
                capture_output=True, pass_fds=secret.descriptors,
                env={**{k: v for k, v in asked.items() if not k.startswith("MUSTER_RESOLVE_") and k not in _OF_MUSTER_RUN},
                     "MUSTER_RESOLVE_KIND": kind})
            served.check()
        said = done.stdout.strip()
        if done.returncode == 0 or (said and "--health" in words):
            return json.loads(said)
        error = done.stderr.strip().removeprefix("muster resolve: ").removeprefix("--kind: ")
        if done.returncode == _USAGE:
            raise ValueError(error)
        raise ResolverError(error, done.returncode == _UNREACHABLE)

    def _token(self) -> str | None:
        if self._service is not None:
            return "none"  # the service has its own credentials, so this value is not used
        given = self._credentials
        if given is None or isinstance(given, str):
            return given
        if callable(getattr(given, "refresh", None)) and hasattr(given, "token"):
            if not getattr(given, "valid", bool(given.token)):
                import google.auth.transport.requests as requests  # type: ignore[import-not-found,unused-ignore]

                given.refresh(requests.Request())
            return str(given.token)
        if callable(getattr(given, "get_access_token", None)):
            return str(given.get_access_token().access_token)
        if callable(given):
            return str(given())
        raise TypeError(f"credentials: {type(given).__name__} is neither a token, nor a callable, nor credentials of "
                        "google-auth or oauth2client")


def _of(task_type: str | None, task_id: int | None) -> list[str]:
    if task_type is None and task_id is None:
        return []
    return ["--of", (task_type or "") + ("" if task_id is None else f":{task_id}")]


def _with(kind: str, **keys: str) -> str:
    """Adds keys to the last resolver of a resolver string. Keys with an empty value are not added."""
    for name, value in keys.items():
        if value:
            kind += (";" if ":" in kind else ":") + f"{name}={value}"
    return kind


class _Secret:
    """A token in an unnamed file. Only the program inherits the file's descriptor."""

    def __init__(self, token: str | None) -> None:
        self.path = ""
        self.descriptors: list[int] = []
        if token is None:
            return
        descriptor = os.memfd_create("token")
        os.write(descriptor, token.encode())
        self.descriptors.append(descriptor)
        self.path = f"/dev/fd/{descriptor}"

    def __enter__(self) -> _Secret:
        return self

    def __exit__(self, *_: Any) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


class _Served:
    """Serves the caller's service object as an HTTP API on the loopback interface, for a single request."""

    def __init__(self, service: Any) -> None:
        self.url = ""
        self._error: Exception | None = None
        self._server: http.server.HTTPServer | None = None
        if service is None:
            return
        secret = secrets.token_urlsafe(16)

        def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
            path = unquote(handler.path)
            _, found, name = path.partition("/projects/")
            if not path.startswith(f"/{secret}/") or not found:
                return handler.send_error(404)
            try:
                node = service.projects().locations().nodes().get(name="projects/" + name).execute()
                body = json.dumps(node).encode()
            except Exception as error:
                self._error = error
                return handler.send_error(400)
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        quiet = {"do_GET": answer, "log_message": lambda *_: None}
        self._server = http.server.HTTPServer(("127.0.0.1", 0), type("Handler", (http.server.BaseHTTPRequestHandler,), quiet))
        self.url = f"http://127.0.0.1:{self._server.server_port}/{secret}"
        threading.Thread(target=self._server.serve_forever, name="muster-resolver", daemon=True).start()

    def check(self) -> None:
        """Raises ResolverError if the service object has raised an exception."""
        if self._error is not None:
            raise ResolverError(f"the service has failed: {self._error}") from self._error

    def __enter__(self) -> _Served:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
