"""Message classes of the protocol, built from the packaged descriptors when this module is imported.

Generated code would depend on a single major version of protobuf; descriptors work with all versions. The descriptors
have a separate pool, so they cannot conflict with messages of the user's program. A test compares `descriptors.bin`
with the files in `proto/`.
"""
from __future__ import annotations

import pathlib
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

DESCRIPTORS = pathlib.Path(__file__).with_name("descriptors.bin")


def _pool() -> Any:
    files = descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


_messages = _pool()


def named(name: str) -> Any:
    """Returns the message class with the given full name."""
    described = _messages.FindMessageTypeByName(name)
    try:
        return message_factory.GetMessageClass(described)
    except AttributeError:  # before protobuf 4.22, for example in Debian 12
        return message_factory.MessageFactory(_messages).GetPrototype(described)


def _class(name: str) -> Any:
    return named("muster.v1." + name)


Failure = _class("Failure")

SessionRequest = _class("SessionRequest")
SessionResponse = _class("SessionResponse")
ClosureOptions = _class("ClosureOptions")
Input = _class("Input")
GetPerWorkerValueRequest = _class("GetPerWorkerValueRequest")
PerWorkerValue = _class("PerWorkerValue")
GetLogsRequest = _class("GetLogsRequest")
GetLogsResponse = _class("GetLogsResponse")
FetchRequest = _class("FetchRequest")
FetchResponse = _class("FetchResponse")
CancelQueuedRequest = _class("CancelQueuedRequest")
CancelQueuedResponse = _class("CancelQueuedResponse")
GetCapacityRequest = _class("GetCapacityRequest")
GetCapacityResponse = _class("GetCapacityResponse")
ExplainRequest = _class("ExplainRequest")
ExplainResponse = _class("ExplainResponse")

WorkerMessage = _class("WorkerMessage")
ServerMessage = _class("ServerMessage")
Hello = _class("Hello")
Answers = _class("Answers")

NewObject = _class("NewObject")
NewDataset = _class("NewDataset")
FindObject = _class("FindObject")

PutBlob = _class("PutBlob")
BlobThere = _class("BlobThere")
GetBlob = _class("GetBlob")
BlobPiece = _class("BlobPiece")
HasBlobs = _class("HasBlobs")
BlobsThere = _class("BlobsThere")
HoldRequest = _class("HoldRequest")
HoldResponse = _class("HoldResponse")
LocateRequest = _class("LocateRequest")
LocateResponse = _class("LocateResponse")

# muster.v1.Encoding
JSON = 0
BYTES = 1

# muster.v1.InputForm
INPUT_JSON = 0
INPUT_BYTES = 1
INPUT_PICKLE = 2

# muster.v1.Notice.Kind
FAILED = 0
DRAINED = 1
