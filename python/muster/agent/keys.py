"""The keys of an agent's cluster."""
from __future__ import annotations

from typing import Any, Union

from muster.agent.connection import Connection
from muster.agent.errors import CoordinationError
from muster.agent.watch import KeyWatch, OnChange

Value = Union[bytes, bytearray, memoryview, str]


class Keys:
    """Slashes make folders; doubled, leading and trailing ones do not count. Values are bytes; text is
    sent as UTF-8. All raise AgentError and CoordinationError."""

    _at: Connection
    call_timeout: float

    def set(self, key: str, value: Value) -> None:
        """Replaces what was there."""
        self._insert(key, value, True)

    def set_if_absent(self, key: str, value: Value) -> bool:
        """False: it is there already, and keeps its value."""
        try:
            self._insert(key, value, False)
        except CoordinationError as error:
            if error.code != "ALREADY_EXISTS":
                raise
            return False
        return True

    def _insert(self, key: str, value: Value, overwrite: bool) -> None:
        if not isinstance(value, (bytes, bytearray, memoryview, str)):
            raise TypeError(f"value: {value!r} is neither bytes nor text")
        data = value.encode() if isinstance(value, str) else bytes(value)
        self._ask("InsertKeyValue", again=overwrite, kv={"key": key, "value": data}, allow_overwrite=overwrite)

    def get(self, key: str, timeout: float) -> bytes:
        """Waits for the key. Raises CoordinationError, a WaitTimeout, after `timeout` seconds."""
        answer = self._at.ask("GetKeyValue", timeout, key=key)
        return bytes(answer.kv.value)

    def try_get(self, key: str) -> bytes | None:
        """None: it is not there."""
        try:
            return bytes(self._ask("TryGetKeyValue", key=key).kv.value)
        except CoordinationError as error:
            if error.code != "NOT_FOUND":
                raise
            return None

    def list(self, folder: str) -> dict[str, bytes]:
        """All below the folder, at any depth, in order of bytes."""
        answer = self._ask("GetKeyValueDir", directory_key=folder)
        return {kv.key: bytes(kv.value) for kv in answer.kv}

    def increment(self, key: str, by: int = 1) -> int:
        """Adds to a decimal number, 0 if there is none, and gives the sum. FAILED_PRECONDITION: the value
        is no number."""
        return int(self._ask("IncrementKeyValue", again=False, key=key, increment=by).kv.value)

    def delete(self, key: str) -> None:
        """The key and everything below it."""
        self._ask("DeleteKeyValue", key=key, is_directory=True)

    def watch(self, folder: str, on_change: OnChange, *, interval: float = 0.1) -> KeyWatch:
        """Calls ``on_change(key, value)``, on a thread of its own, for every key below the folder: first for
        those that are there, then when one changes; `value` is None when it was deleted. Ends with
        ``stop()`` of what this returns, or with the run."""
        return KeyWatch(self._at, folder, on_change, interval, self.call_timeout)

    def _ask(self, name: str, *, again: bool = True, **fields: Any) -> Any:
        return self._at.ask(name, self.call_timeout, again=again, **fields)
