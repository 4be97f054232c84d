"""What a scenario is. A function with a trial; it raises Failure, or the trial's time runs out."""
import dataclasses
from typing import Callable


@dataclasses.dataclass
class Scenario:
    run: Callable
    seconds: int = 90           # time limit, generous: the machine may be busy
    since: tuple = ()           # the first version that has what it needs
    # False: jaxlib's own service cannot do it, so that it is left out with --server reference.
    reference: bool = True

    @property
    def name(self):
        return self.run.__name__
