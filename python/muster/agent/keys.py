"""The key-value store of an agent's cluster."""
from __future__ import annotations

from typing import Any, Union

from muster.agent.connection import Connection
from muster.agent.errors import CoordinationError
from muster.agent.watch import KeyWatch, OnChange

Value = Union[bytes, bytearray, memoryview, str]


class Keys:
    """Methods that access the key-value store of a cluster.

    Slashes separate folders; leading, trailing and repeated slashes are ignored. Values are bytes; a str is sent as
    UTF-8. A method that fails raises AgentError after the run has ended, otherwise CoordinationError.
    """

    _at: Connection
    call_timeout: float

    def set(self, key: str, value: Value) -> None:
        """Sets the value of a key, and replaces an existing value.

        Args:
            key: Name of the key, for example ``"address/0"``.
            value: The value; a str is sent as UTF-8.

        Raises:
            TypeError: `value` is neither bytes nor str.
        """
        self._insert(key, value, True)

    def set_if_absent(self, key: str, value: Value) -> bool:
        """Sets a key unless it exists.

        Args:
            key: Name of the key.
            value: The value; a str is sent as UTF-8.

        Returns:
            Whether the key was set. If the key already exists, returns False and leaves its value unchanged.

        Raises:
            TypeError: `value` is neither bytes nor str.
        """
        try:
            self._insert(key, value, False)
        except CoordinationError as error:
            if error.code != "ALREADY_EXISTS":
                raise
            return False
        return True

    def _insert(self, key: str, value: Value, overwrite: bool) -> None:
        if not isinstance(value, (bytes, bytearray, memoryview, str)):
            raise TypeError(f"value: {value!r} is neither bytes nor a string")
        data = value.encode() if isinstance(value, str) else bytes(value)
        self._ask("InsertKeyValue", again=overwrite, kv={"key": key, "value": data}, allow_overwrite=overwrite)

    def get(self, key: str, timeout: float) -> bytes:
        """Waits for a key and returns its value.

        Args:
            key: Name of the key.
            timeout: Seconds to wait.

        Returns:
            The value.

        Raises:
            CoordinationError: DEADLINE_EXCEEDED (a WaitTimeout) if the key was not set within `timeout`.
        """
        answer = self._at.ask("GetKeyValue", timeout, key=key)
        return bytes(answer.kv.value)

    def try_get(self, key: str) -> bytes | None:
        """Returns the value of a key, or None if the key does not exist.

        Args:
            key: Name of the key.
        """
        try:
            return bytes(self._ask("TryGetKeyValue", key=key).kv.value)
        except CoordinationError as error:
            if error.code != "NOT_FOUND":
                raise
            return None

    def list(self, folder: str) -> dict[str, bytes]:
        """Returns all keys below a folder, at any depth, with their values. The keys are in byte order.

        Args:
            folder: Name of the folder.
        """
        answer = self._ask("GetKeyValueDir", directory_key=folder)
        return {kv.key: bytes(kv.value) for kv in answer.kv}

    def increment(self, key: str, by: int = 1) -> int:
        """Adds `by` to a key's value, which is a decimal number. A missing key counts as 0.

        Args:
            key: Name of the key.
            by: Number to add, which can be negative.

        Returns:
            The sum.

        Raises:
            CoordinationError: FAILED_PRECONDITION if the value is not a number. UNAVAILABLE if the connection broke;
                the addition may have been made.
        """
        return int(self._ask("IncrementKeyValue", again=False, key=key, increment=by).kv.value)

    def delete(self, key: str) -> None:
        """Deletes a key and all keys below it.

        Args:
            key: Name of the key.
        """
        self._ask("DeleteKeyValue", key=key, is_directory=True)

    def watch(self, folder: str, on_change: OnChange, *, interval: float = 0.1) -> KeyWatch:
        """Watches all keys below a folder.

        Calls ``on_change(key, value)`` on a separate thread, first for each existing key, then for each change. The
        folder is listed every `interval` seconds. If a key changes several times between two listings, only the last
        change is reported. The watch ends when you call ``stop()`` on the returned object, or when the run ends.

        Args:
            folder: Name of the folder.
            on_change: Function that is called with the key and its value. The value is None if the key was deleted.
            interval: Seconds between two listings.

        Returns:
            The watch object.

        Raises:
            ValueError: `interval` is not positive.
        """
        return KeyWatch(self._at, folder, on_change, interval, self.call_timeout)

    def _ask(self, name: str, *, again: bool = True, **fields: Any) -> Any:
        return self._at.ask(name, self.call_timeout, again=again, **fields)
