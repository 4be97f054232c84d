"""The methods of a coordinator for variables and for objects with names."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Sequence, overload

from muster.variables import making
from muster.variables.checkpoint import Path
from muster.variables.handle import RemoteVariable
from muster.variables.known import Known
from muster.variables.making import AnyVariable, Initial
from muster.variables.partitioners import Partitioner
from muster.variables.periodic import Checkpoints
from muster.variables.variable import CLASS_NAME

if TYPE_CHECKING:
    from muster.coordinator.session import Session


class State:
    """A base class of ClusterCoordinator."""

    @property
    def _session(self) -> Session:
        raise NotImplementedError

    _known: Known

    @overload
    def variable(self, array: Any = None, *, name: str = "", task: str = "", shape: Sequence[int] | None = None,
                 dtype: Any = None, initializer: str | None = None, detached: bool = False) -> RemoteVariable: ...
    @overload
    def variable(self, array: Any = None, *, name: str = "", task: str = "",
                 partitioner: Partitioner | None, tasks: Sequence[str] = (), shape: Sequence[int] | None = None,
                 dtype: Any = None, initializer: str | None = None, detached: bool = False) -> AnyVariable: ...

    def variable(self, array: Any = None, *, name: str = "", task: str = "",
                 partitioner: Partitioner | None = None, tasks: Sequence[str] = (),
                 shape: Sequence[int] | None = None, dtype: Any = None, initializer: str | None = None,
                 detached: bool = False) -> AnyVariable:
        """Creates a variable on a task, or in shards on several tasks.

        It waits for a task only if more than 24 MiB are sent there.

        Args:
            array: The content. None: it is made on the task, of `shape`, `dtype` and `initializer`.
            name: Name by which others find it with :meth:`get_variable`.
            task: The task. Default: "ps:0".
            partitioner: A function of shape and dtype that determines the shards, such as
                :class:`muster.FixedShardsPartitioner`.
            tasks: Tasks of the shards, which are placed in turn. It can have one element.
            shape: Shape, without `array`.
            dtype: Numpy dtype. Default: that of `array`, or float32. An array is converted to it.
            initializer: "zeros" (default) or "ones", without `array`.
            detached: Whether the variable outlives this coordinator. It then needs a name.

        Returns:
            A RemoteVariable, or a ShardedVariable if the partitioner makes several shards.

        Raises:
            InputError: The server refused it, for example because the name is in use.
            TypeError: Neither `array` nor `shape` is given, or the dtype is not supported.
            ValueError: Arguments contradict each other, or a row is larger than 7 MiB.
            UnavailableError: The session has ended.
            ImportError: numpy is not installed.

        Example:
            ```python
            import muster

            with muster.LocalCluster(workers=1) as cluster, cluster.coordinator() as c:
                w = c.variable([1.0, 2.0], name="w", task="worker:0")
                w.assign_add(0.5)
                print(w.read().fetch())  # [1.5 2.5]
            ```
        """
        if task and tasks:
            raise ValueError("task, or tasks of shards, not both")
        if isinstance(tasks, str):
            raise TypeError(f"tasks: {tasks!r}, is a sequence, as ['ps:0', 'ps:1']")
        if array is None:
            if shape is None:
                raise TypeError("a variable is made of an array, or a shape")
            array = Initial(shape, dtype or "float32", initializer or "zeros")
        else:
            array = making.checked(array, shape, dtype, initializer)
        placed = list(tasks) or [task or "ps:0"]
        if partitioner is not None and not (task or tasks):
            raise ValueError("tasks: shards are placed on tasks in turns, as tasks=['ps:0', 'ps:1']")
        made = making.make(self._session.objects_known(), array, name, placed, partitioner, detached)
        self._known.add(made, name)
        return made

    def get_variable(self, name: str) -> AnyVariable:
        """Returns the handle of an existing variable, whole or in shards. Waits until the variable has reported its
        shape.

        Args:
            name: The name that a coordinator has given it.

        Returns:
            A RemoteVariable or a ShardedVariable.

        Raises:
            NotServedError: There is no object of this name.
            TypeError: The object is not a variable.
        """
        found = making.find(self._session.objects_known(), name)
        self._known.add(found, name)
        return found

    def get_object(self, name: str) -> Any:
        """Returns the handle of an existing object, or of a variable as `get_variable` does.

        Results of its methods can be unpickled here, so the process that runs the object must be trusted.

        Args:
            name: The name that a coordinator has given it.

        Returns:
            A RemoteObject, RemoteVariable or ShardedVariable.

        Raises:
            NotServedError: There is no object of this name.
            InputError: The object belongs to another token.
        """
        objects = self._session.objects_known()
        found = objects.look_for(name)
        if found.class_name not in (CLASS_NAME, making.IN_SHARDS):
            return objects.handle_of(found, found.class_name)
        variable = making.handle_of(objects, found, name)
        self._known.add(variable, name)
        return variable

    def save(self, path: Path, *, keep: int | None = None, quiesce: bool = False,
             timeout: float | None = None) -> int:
        """Writes a checkpoint.

        It contains the variables that this coordinator has created or found, the objects that it has created whose
        class has ``save_state(self)``, and the positions of named datasets. All of them need names. A state must be
        picklable. Each shard is saved between two of its calls.

        Args:
            path: Directory of the checkpoints. Only this program must be able to access it. Only one program at a
                time can write there.
            keep: Number of newest checkpoints to keep. None: all.
            quiesce: Whether to save everything at the same moment: scheduled calls end first, and new calls wait.
            timeout: Seconds that `quiesce` waits. None: no limit.

        Returns:
            The number of the checkpoint, once it is on disk.

        Raises:
            ValueError: Something that must be saved has no name.
            OSError: The checkpoint cannot be written.
            ClosureError: A call has failed; with `quiesce`, also the pending error of scheduled calls.
            WaitTimeout: With `quiesce`, calls have not ended within `timeout`.
        """
        with self._session.quiet(timeout) if quiesce else contextlib.nullcontext(True) as good:
            if not good:
                self._session.join(None)  # raises the pending error
            return self._known.save(path, keep)

    def restore(self, path: Path) -> int | None:
        """Loads the newest complete checkpoint.

        It loads everything that this coordinator has created or found, by name, into any number of shards and any
        tasks. Objects need a method ``load_state(self, state)``. Create everything first. States can be pickles, so
        restore only checkpoints that you trust as much as code.

        Args:
            path: Directory of the checkpoints.

        Returns:
            The number of the checkpoint, or None if there is none.

        Raises:
            ValueError: No checkpoint is complete, or the newest one lacks something or has other shapes. Nothing
                was loaded.
        """
        return self._known.restore(path)

    def checkpoints(self, path: Path, *, every: float = 60.0, keep: int | None = 3,
                    quiesce: bool = False, timeout: float | None = None) -> Checkpoints:
        """Saves a checkpoint periodically, on its own thread.

        It ends with `stop`, the ``with`` block or the coordinator. Errors are logged, and raised by the next
        `schedule`, `join` or `done`, otherwise by the end of the ``with`` block. The loss of a task is reported as
        usual. After it nothing is saved until `restore` has been called.

        Args:
            path: Directory of the checkpoints.
            every: Seconds between two checkpoints.
            keep: Number of newest checkpoints to keep. None: all.
            quiesce: As for `save`.
            timeout: As for `save`.

        Returns:
            An object with the method `stop` and the attribute `last`, the number of the last checkpoint or None.
        """
        return Checkpoints(self._known, self._session, path, every, keep, quiesce, timeout)
