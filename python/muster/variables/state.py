"""The methods of a coordinator for variables and for named objects."""
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
    """Base class of ClusterCoordinator."""

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
        """Creates a variable on a single task, or divided into shards on several tasks.

        Waits for a task only if more than 24 MiB must be sent to the task.

        Args:
            array: Initial values. If None, the task creates the array from `shape`, `dtype` and `initializer`.
            name: Name with which other programs find the variable by calling `get_variable`.
            task: The task that holds the variable. The default is "ps:0".
            partitioner: A function that determines the number of shards from the shape and dtype, such as
                `muster.FixedShardsPartitioner`.
            tasks: Tasks that hold the shards, assigned in turn. The list can have a single element.
            shape: Shape of the variable if `array` is not given.
            dtype: Numpy dtype, to which `array` is converted. None means the dtype of `array`, or float32 without an
                array.
            initializer: Initial values if `array` is not given, either "zeros" (the default) or "ones".
            detached: Whether the variable outlives this coordinator. A detached variable must have a name.

        Returns:
            A RemoteVariable, or a ShardedVariable if the partitioner requests several shards.

        Raises:
            InputError: The server rejected the variable, for example because the name is in use.
            TypeError: Neither `array` nor `shape` is given, or the dtype is not supported.
            ValueError: The arguments contradict each other, or a row is larger than 7 MiB.
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
            raise ValueError("task, tasks: pass only one of the two")
        if isinstance(tasks, str):
            raise TypeError(f"tasks: {tasks!r}, must be a list of tasks, such as ['ps:0', 'ps:1']")
        if array is None:
            if shape is None:
                raise TypeError("a variable must be created from an array or a shape")
            array = Initial(shape, dtype or "float32", initializer or "zeros")
        else:
            array = making.checked(array, shape, dtype, initializer)
        placed = list(tasks) or [task or "ps:0"]
        if partitioner is not None and not (task or tasks):
            raise ValueError("tasks: a partitioner also needs the tasks of the shards, such as tasks=['ps:0', 'ps:1']")
        made = making.make(self._session.objects_known(), array, name, placed, partitioner, detached)
        self._known.add(made, name)
        return made

    def get_variable(self, name: str) -> AnyVariable:
        """Returns the handle of an existing variable, either whole or in shards. Waits until the variable has reported
        its shape.

        Args:
            name: The name that a coordinator gave the variable.

        Returns:
            A RemoteVariable or a ShardedVariable.

        Raises:
            NotServedError: No object has this name.
            TypeError: The object is not a variable.
        """
        found = making.find(self._session.objects_known(), name)
        self._known.add(found, name)
        return found

    def get_object(self, name: str) -> Any:
        """Returns the handle of an existing object. For a variable, returns the same handle as `get_variable`.

        The results of the object's methods can be pickles that this process unpickles, so the process that runs the
        object must be trusted.

        Args:
            name: The name that a coordinator gave the object.

        Returns:
            A RemoteObject, RemoteVariable or ShardedVariable.

        Raises:
            NotServedError: No object has this name.
            InputError: The object belongs to a client with a different token.
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

        The checkpoint contains the variables that this coordinator has created or found, and the positions of named
        datasets. The checkpoint also contains the created objects whose class defines ``save_state(self)``. All saved
        variables and objects must have names. The state of an object must be picklable. Each shard is saved between two
        of its calls.

        Args:
            path: Directory of the checkpoints. Untrusted programs must not have access to this directory. Only one
                program at a time can write to the directory.
            keep: Number of newest checkpoints to keep. None means all checkpoints.
            quiesce: Whether to save everything at the same point in time. If True, the save waits for scheduled calls
                and delays new calls.
            timeout: Seconds to wait for scheduled calls if `quiesce` is True. None means no limit.

        Returns:
            The number of the checkpoint. The checkpoint is on disk when `save` returns.

        Raises:
            ValueError: A variable, object or dataset that must be saved has no name.
            OSError: The checkpoint cannot be written.
            ClosureError: A call has failed. With `quiesce`, a pending error of scheduled calls is raised as well.
            WaitTimeout: With `quiesce`, calls have not finished within `timeout`.
        """
        with self._session.quiet(timeout) if quiesce else contextlib.nullcontext(True) as good:
            if not good:
                self._session.join(None)  # raises the pending error
            return self._known.save(path, keep)

    def restore(self, path: Path) -> int | None:
        """Loads the newest complete checkpoint.

        Create all variables, objects and datasets before you call `restore`. Everything that this coordinator has
        created or found is loaded by name. The number of shards and their tasks can differ from the saved variables.
        Objects must have a method ``load_state(self, state)``. Restore only trusted checkpoints, because states can be
        pickles, which can run code.

        Args:
            path: Directory of the checkpoints.

        Returns:
            The number of the checkpoint, or None if there is no checkpoint.

        Raises:
            ValueError: No checkpoint is complete, or the newest complete checkpoint lacks a variable, object or
                dataset, or a variable's shape differs. In these cases, nothing was loaded.
        """
        return self._known.restore(path)

    def checkpoints(self, path: Path, *, every: float = 60.0, keep: int | None = 3,
                    quiesce: bool = False, timeout: float | None = None) -> Checkpoints:
        """Saves a checkpoint periodically, on a separate thread.

        The thread stops when `stop` is called, the ``with`` block is exited, or the coordinator is closed. Errors are
        logged, and then raised by the next call of `schedule`, `join` or `done`, or at the end of the ``with`` block.
        After the loss of a task, no checkpoint is saved until `restore` has been called.

        Args:
            path: Directory of the checkpoints.
            every: Seconds between two checkpoints.
            keep: Number of newest checkpoints to keep. None means all checkpoints.
            quiesce: Whether to save everything at the same point in time, as in `save`.
            timeout: Seconds to wait for scheduled calls if `quiesce` is True, as in `save`. None means no limit.

        Returns:
            An object with the method `stop` and the attribute `last`. `last` is the number of the last checkpoint, or
            None if no checkpoint was saved.
        """
        return Checkpoints(self._known, self._session, path, every, keep, quiesce, timeout)
