"""Packs a client's own modules and packages into a zip file from which workers import them. Internal.

Identical files result in identical zip files: names are sorted, and each timestamp is the earliest that the zip format
can store. The digest covers file names and file contents.
"""
from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import pathlib
import sys
import types
import zipfile
from typing import Iterator, Sequence, Union

Uploadable = Union[types.ModuleType, str, "os.PathLike[str]"]
"""A module, or the path of a .py file, of a package, or of a directory that contains modules."""

UPLOAD_BYTES_MAX = 1 << 30
"""Maximum size of the zip file, which is a blob. A server without blobs receives the zip file as an argument, with a
limit of 32 MiB.
"""
CONTENT_BYTES_MAX = 4 << 30
"""Maximum total size of the unpacked files."""
FILES_MAX = 20_000
_PIECE = 1 << 20
_TIME = (1980, 1, 1, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class Upload:
    digest: str
    """SHA-256 of the file names and file contents, in hexadecimal."""
    data: bytes
    """The zip file, whose top directory is added to sys.path."""
    names: str
    """Names of the modules and paths, for use in messages."""


def collect(what: Sequence[Uploadable]) -> Upload:
    """Returns a zip file of the given modules and paths.

    Raises TypeError for other values and for a module without files, ValueError if the zip file is too large, and
    FileNotFoundError if a path does not exist.
    """
    if isinstance(what, (str, os.PathLike, types.ModuleType)):
        what = [what]
    files: dict[str, pathlib.Path] = {}
    for one in what:
        for name, path in _files_of(one):
            files.setdefault(name, path)
            if len(files) > FILES_MAX:
                raise ValueError(f"upload: {_name(one)} has more than {FILES_MAX} files")
    names = ", ".join(map(_name, what))
    digest, zipped, size = hashlib.sha256(), io.BytesIO(), 0
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            size += files[name].stat().st_size
            if size > CONTENT_BYTES_MAX:
                raise ValueError(f"upload: {names} has more than {CONTENT_BYTES_MAX} bytes: leave data "
                                 "out, or install it on the workers")
            content = files[name].read_bytes()
            digest.update(header(name, len(content)) + content)
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    data = zipped.getvalue()
    if len(data) > UPLOAD_BYTES_MAX:
        raise ValueError(f"upload: {names} has {len(data)} bytes as a zip, the limit is "
                         f"{UPLOAD_BYTES_MAX}: leave data out, or install it on the workers")
    return Upload(digest.hexdigest(), data, names)


def header(name: str, size: int) -> bytes:
    """Returns the bytes that precede a file's contents in the digest."""
    return b"%d %d " % (len(name.encode()), size) + name.encode()


def unpack(data: bytes, digest: str, folder: str) -> None:
    """Unpacks an upload: writes the files that `collect` has packed to `folder`.

    Raises ValueError if the files do not match the digest or are too large, and the exceptions of reading zip files and
    writing files.
    """
    said, size = hashlib.sha256(), 0
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = sorted(archive.infolist(), key=lambda e: e.filename)
        if len(entries) > FILES_MAX:
            raise ValueError(f"the upload has {len(entries)} files, the limit is {FILES_MAX}")
        for entry in entries:
            size += entry.file_size  # reading stops at this size
            if size > CONTENT_BYTES_MAX:
                raise ValueError(f"the upload has more than {CONTENT_BYTES_MAX} bytes")
            path = pathlib.PurePosixPath(entry.filename)
            if path.is_absolute() or ".." in path.parts or entry.is_dir():
                raise ValueError(f"the upload contains an invalid file name, {entry.filename!r}")
            said.update(header(entry.filename, entry.file_size))
            to = pathlib.Path(folder, path)
            to.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, to.open("wb") as file:
                while piece := source.read(_PIECE):
                    said.update(piece)
                    file.write(piece)
    if said.hexdigest() != digest:
        raise ValueError(f"the upload {digest} does not match its contents, whose digest is {said.hexdigest()}")


def _name(what: Uploadable) -> str:
    return what.__name__ if isinstance(what, types.ModuleType) else os.fspath(what)


def _files_of(what: Uploadable) -> Iterator[tuple[str, pathlib.Path]]:
    if isinstance(what, types.ModuleType):
        yield from _files_of_module(what)
        return
    if not isinstance(what, (str, os.PathLike)):
        raise TypeError(f"upload: must be a module or a path, not {type(what).__name__}")
    path = pathlib.Path(what).resolve()
    if path.is_dir():
        is_package = (path / "__init__.py").exists()
        yield from _below(path, path.name + "/" if is_package else "")
    elif path.suffix == ".py" and path.exists():
        yield path.name, path
    else:
        raise FileNotFoundError(f"upload: {what} is neither a directory nor a .py file")


def _files_of_module(module: types.ModuleType) -> Iterator[tuple[str, pathlib.Path]]:
    """Yields the files of a module. For a submodule, yields the files of the whole package, because a submodule cannot
    be imported without its package.
    """
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    folders = list(getattr(top, "__path__", ()))
    for folder in folders:
        yield from _below(pathlib.Path(folder), top.__name__ + "/")
    if folders:
        return
    file = getattr(top, "__file__", None)
    if top.__name__ == "__main__" or not file or not os.path.exists(file):
        raise TypeError(f"upload: the module {top.__name__} has no files; definitions of __main__ "
                        "are sent automatically")
    yield os.path.basename(file), pathlib.Path(file)


def _below(folder: pathlib.Path, prefix: str) -> Iterator[tuple[str, pathlib.Path]]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not f.startswith("."))
        for file in files:
            path = pathlib.Path(place, file)
            if not file.startswith(".") and path.suffix != ".pyc" and path.is_file():
                yield prefix + path.relative_to(folder).as_posix(), path
