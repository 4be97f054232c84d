"""What a coordinator has to say of variables and of objects with names."""
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
    """A part of ClusterCoordinator."""

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
        """Makes a variable of `array`, or of `shape`, `dtype` (float32 unless it is said) and `initializer`
        ("zeros", "ones"; beside an array only `dtype` says more, which it is converted to), on `task`
        ("ps:0" unless it is said), or in shards of rows as `partitioner` says, on `tasks` in turns (of which one may
        be enough). `name` and
        `detached` are as those of :meth:`create`. Where more than 24 MiB are to go to one task it waits until
        they are there. Raises what `create` does, ValueError, TypeError, ImportError (no numpy)."""
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
        """The handle of a variable that was made with this name, by whomever, whole or in shards. Waits for it to
        say its shape. Raises NotServedError (there is none), TypeError (it is no variable)."""
        found = making.find(self._session.objects_known(), name)
        self._known.add(found, name)
        return found

    def get_object(self, name: str) -> Any:
        """The handle of an object that was made with this name, by whomever: what its methods return may
        be unpickled here. Of a variable it is as `get_variable`. Raises NotServedError (there is none),
        InputError (another token's)."""
        objects = self._session.objects_known()
        found = objects.look_for(name)
        if found.class_name not in (CLASS_NAME, making.IN_SHARDS):
            return objects.handle_of(found, found.class_name)
        variable = making.handle_of(objects, found, name)
        self._known.add(variable, name)
        return variable

    def save(self, path: Path, *, keep: int | None = None, quiesce: bool = False,
             timeout: float | None = None) -> int:
        """Writes a checkpoint below the directory `path`, which only this program needs to see: all variables
        that it has made or found, and all objects that it has made whose class has ``save_state(self)``, which
        returns what can be pickled. Each shard is saved between two of its calls. `quiesce`: waits until
        nothing that was scheduled runs, and holds back what others schedule meanwhile, so that all is of one
        moment; for `timeout` seconds at most (WaitTimeout). `keep`: the newest so many stay. Returns its
        number once it is on the disk. Raises ValueError (one has no name), OSError, what calls raise, and with
        `quiesce` the pending error."""
        with self._session.quiet(timeout) if quiesce else contextlib.nullcontext(True) as good:
            if not good:
                self._session.join(None)  # raises why
            return self._known.save(path, keep)

    def restore(self, path: Path) -> int | None:
        """Loads the newest whole checkpoint below `path` into what this coordinator has made or found, by name,
        also into other numbers of shards and tasks; objects by ``load_state(self, state)``. Make them first.
        Returns its number, None: there is none. Raises ValueError (none is whole; it has not all of them, or
        of other shapes: then nothing was loaded). A checkpoint is code to who loads it, as any pickle is."""
        return self._known.restore(path)

    def checkpoints(self, path: Path, *, every: float = 60.0, keep: int | None = 3,
                    quiesce: bool = False, timeout: float | None = None) -> Checkpoints:
        """Saves every so many seconds, on a thread of its own; `quiesce` and `timeout` are as those of `save`. What
        goes wrong is in the log, and raised by the next schedule, join or done, or else by the end of a ``with``
        block; a lost task is told as ever, and after it nothing is saved until `restore` was called."""
        return Checkpoints(self._known, self._session, path, every, keep, quiesce, timeout)
