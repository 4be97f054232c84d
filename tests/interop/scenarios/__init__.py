"""Scenarios: functions that run a trial. A scenario fails by raising Failure, or when the trial's time is over."""
import dataclasses
from typing import Callable


@dataclasses.dataclass
class Scenario:
    run: Callable
    seconds: int = 90  # time limit, generous because the machine may be busy
    since: tuple = ()  # the first version that supports the scenario
    # False: jaxlib's own service does not support it, so --server reference omits it.
    reference: bool = True

    @property
    def name(self):
        return self.run.__name__
