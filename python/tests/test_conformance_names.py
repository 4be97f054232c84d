"""Every name in the table has a test or a reason."""
from __future__ import annotations

import re

import conformance_names
import test_closure_queue
import test_cluster_coordinator
import test_fault_tolerance


def test_every_name_has_a_test_or_a_reason() -> None:
    here = {**vars(test_closure_queue), **vars(test_cluster_coordinator), **vars(test_fault_tolerance)}
    for file, names in conformance_names.NAMES.items():
        for name, reason in names.items():
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
            assert bool(reason) != (words in here), (file, name, words)
