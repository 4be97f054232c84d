"""Functions that the workers of a run serve by name, so that clients in any language can call them."""
from __future__ import annotations

import effects
import muster

compute = muster.function("robustness.compute")(effects.compute)
add = muster.function("robustness.add")(effects.add)
