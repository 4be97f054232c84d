"""Contents of the package."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest
from google.protobuf import descriptor_pb2

from muster._wire import messages

PACKAGE = pathlib.Path(__file__).parents[1]
PROTO = PACKAGE.parent / "proto"


def parsed(data: bytes) -> dict[str, descriptor_pb2.FileDescriptorProto]:
    return {f.name: f for f in descriptor_pb2.FileDescriptorSet.FromString(data).file}


@pytest.mark.skipif(not PROTO.is_dir(), reason="only beside the protocol's files")
def test_packaged_descriptors_match_the_protocol(tmp_path: pathlib.Path) -> None:
    protoc = shutil.which("protoc")
    assert protoc, "protoc is needed to compare"
    out = tmp_path / "descriptors.bin"
    files = ["muster/v1/worker.proto", "muster/v1/coordinator.proto", "muster/v1/blobs.proto",
             "xla/coordination/coordination_service.proto", "tensorflow/coordination_service.proto",
             "tensorflow/distributed_runtime_payloads.proto"]
    subprocess.run([protoc, f"-I{PROTO}", "--include_imports", f"--descriptor_set_out={out}", *files],
                   check=True)
    assert parsed(out.read_bytes()) == parsed(messages.DESCRIPTORS.read_bytes()), (
        "create them again: protoc -Iproto --include_imports "
        "--descriptor_set_out=python/muster/_wire/descriptors.bin " + " ".join(files))


def test_one_wheel_holds_everything(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "python"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("tests", "__pycache__", "*.egg-info"))
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
                    "--no-build-isolation", "--wheel-dir", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (PACKAGE / "muster").rglob("*"):
        if path.suffix in (".py", ".bin", ".typed"):
            assert str(path.relative_to(PACKAGE)) in names
    (licence,) = (n for n in names if n.endswith("/LICENSE"))
    (metadata,) = (n for n in names if n.endswith("/METADATA"))
    with zipfile.ZipFile(wheel) as files:
        assert b"Apache License" in files.read(licence)
        assert b"\nLicense: Apache-2.0\n" in files.read(metadata)


def test_import_is_cheap_and_needs_no_grpc() -> None:
    code = ("import sys, time; t = time.process_time(); import muster; "
            "assert time.process_time() - t < 0.3; assert 'grpc' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE)


def test_child_process_never_imports_grpc() -> None:
    code = "import sys, muster.worker.forkserver; assert 'grpc' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE)


def test_every_public_name_can_be_loaded() -> None:
    import muster

    for name in muster.__all__:
        assert getattr(muster, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        muster.nothing  # noqa: B018  it raises


@pytest.mark.parametrize("version", ["4.25.*", "5.*", "6.*"])
def test_messages_are_made_by_each_major_version_of_protobuf(tmp_path: pathlib.Path,
                                                             version: str) -> None:
    got = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary",
                          ":all:", "--target", str(tmp_path), f"protobuf=={version}"],
                         capture_output=True, text=True)
    if got.returncode != 0 and os.environ.get("CI") != "true":
        pytest.skip("SKIPPED, NOT RUN: " + got.stderr.strip().rpartition("\n")[2])
    assert got.returncode == 0, got.stderr
    code = """
import google.protobuf
assert google.protobuf.__version__.startswith(%r), google.protobuf.__version__
from muster._wire import columns, messages
m = messages.SessionRequest(function_name=["python:3.11"], token=[1], function=[0], callable_of=[1])
m.callable.add(name="train.step", hash=b"h" * 32)
m.options.append(messages.ClosureOptions(label={"zone": "a"}, task_index=0))
read, args = columns.parse(messages.SessionRequest, columns.serialize(m, "args", b"x" * 300_000), "args")
assert read == m and args[0] == b"x" * 300_000
assert read.options[0].HasField("task_index")
""" % version.rstrip("*")
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PACKAGE}"})
