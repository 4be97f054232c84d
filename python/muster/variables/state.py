"""What a coordinator has to say of variables and of objects with names."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

from muster.errors import NotServedError
from muster.variables import making
from muster.variables.making import AnyVariable, Initial
from muster.variables.partitioners import Partitioner
from muster.variables.variable import CLASS_NAME

if TYPE_CHECKING:
    from muster.coordinator.session import Session


class State:
    """A part of ClusterCoordinator."""

    _session: Session

    def variable(self, array: Any = None, *, name: str = "", task: str = "",
                 partitioner: Optional[Partitioner] = None, tasks: Sequence[str] = (),
                 shape: Sequence[int] = (), dtype: Any = "float32", initializer: str = "zeros",
                 detached: bool = False) -> AnyVariable:
        """Makes a variable of `array`, or of `shape`, `dtype` and `initializer` ("zeros", "ones"), on `task`
        ("ps:0" unless it is said), or in shards of rows as `partitioner` says, on `tasks` in turns. `name` and
        `detached` are as those of :meth:`create`. Where more than 24 MiB are to go to one task it waits until
        they are there. Raises what `create` does, ValueError, TypeError, ImportError (no numpy)."""
        if task and tasks:
            raise ValueError("task, or tasks of shards, not both")
        if array is None:
            array = Initial(shape, dtype, initializer)
        return making.make(self._session.objects_known(), array, name, list(tasks) or [task or "ps:0"],
                           partitioner, detached)

    def get_variable(self, name: str) -> AnyVariable:
        """The handle of a variable that was made with this name, by whomever, whole or in shards. Waits for it to
        say its shape. Raises NotServedError (there is none), TypeError (it is no variable)."""
        return making.find(self._session.objects_known(), name)

    def get_object(self, name: str) -> Any:
        """The handle of an object that was made with this name, by whomever: what its methods return may
        be unpickled here. Of a variable it is as `get_variable`. Raises NotServedError (there is none),
        InputError (another token's)."""
        objects = self._session.objects_known()
        try:
            found = objects.look_for(name)
        except NotServedError:
            shards = making.find_shards(objects, name)
            if shards is None:
                raise
            return shards
        if found.class_name == CLASS_NAME:
            return making.handle_of(objects, found, name)
        return objects.handle_of(found, found.class_name)
