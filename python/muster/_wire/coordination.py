"""Messages of the coordination service.

Uses XLA's protocol, in which a number identifies a task across the cluster. A few messages that XLA's protocol lacks
come from TensorFlow's protocol.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from muster._wire.messages import named

XLA = "xla.coordination."
TENSORFLOW = "tensorflow."
_CALLS = {XLA: ("RegisterTask Heartbeat ShutdownTask WatchTasks InsertKeyValue GetKeyValue TryGetKeyValue "
                "IncrementKeyValue GetKeyValueDir DeleteKeyValue Barrier CancelBarrier GetAliveTasks "
                "PollForError ReportErrorToService"),
          TENSORFLOW: "WaitForAllTasks ResetTask GetTaskState"}

CONNECTED = 3
STATES = {2: "DISCONNECTED", CONNECTED: "CONNECTED", 4: "ERROR"}


class Method(NamedTuple):
    path: str
    request: Any
    response: Any


METHODS = {name: Method(f"/{package}CoordinationService/{name}", named(f"{package}{name}Request"),
                        named(f"{package}{name}Response"))
           for package, names in _CALLS.items() for name in names.split()}

_Payloads = named("tensorflow.distributed_runtime.GrpcPayloadContainer")
_Error = named(XLA + "CoordinationServiceError")
_BarrierError = named(XLA + "BarrierError")
# The keys have this prefix in both protocols.
_KEY = "type.googleapis.com/tensorflow."


class Refusal(NamedTuple):
    """The reason why a call received no response."""

    code: str
    message: str
    answered: bool = False
    """Whether the service has responded. If False, the connection has failed."""
    task: int | None = None
    reported: bool = False
    barrier: tuple[str, int] | None = None
    """Id of the barrier, and the number of this use of the id."""
    other_service: bool = False
    """Whether this service differs from the service at which the agent has registered."""

    @property
    def passes(self) -> bool:
        """Whether the connection broke or the server is not available yet."""
        return not self.answered and self.code in ("UNAVAILABLE", "CANCELLED", "INTERNAL", "UNKNOWN")


def refusal(call: Any) -> Refusal:
    """Returns the reason why a call received no response."""
    code, message = call.code().name, call.details() or ""
    details = {k: v for k, v in call.trailing_metadata() or () if k == "grpc-status-details-bin"}
    try:
        payloads = _Payloads.FromString(details.get("grpc-status-details-bin", b"")).payloads
        said = payloads.get(_KEY + "CoordinationServiceError")
        if said is None:
            return Refusal(code, message)
        error = _Error.FromString(said)
        barrier = payloads.get(_KEY + "BarrierError")
        of = None if barrier is None else _BarrierError.FromString(barrier)
    except Exception:  # protobuf's error class depends on its version; the service has not answered
        return Refusal(code, message)
    return Refusal(code, message, True, error.source_task_id if said else None,
                   error.is_reported_error, (of.barrier_id, of.counter) if of is not None else None,
                   _KEY + "ServiceMismatchError" in payloads)
