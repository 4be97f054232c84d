"""Every public signature, and the names that users of Ray and Dask type."""
from __future__ import annotations

import copy
import importlib
import inspect
import pathlib
import pickle
import pkgutil
from typing import Any, Iterator

import pytest

import muster
from conftest import Cluster
from muster import _elsewhere


def callables() -> Iterator[tuple[str, Any]]:
    """Yields each function and method of the package."""
    for each in pkgutil.walk_packages(muster.__path__, "muster."):
        if each.name in ("muster.__main__", "muster.tensorflow", "muster.jax") or each.name.startswith("muster.torchrun"):
            continue  # these need packages that are not installed
        module = importlib.import_module(each.name)
        for name, value in vars(module).items():
            if getattr(value, "__module__", "") != each.name:
                continue
            if inspect.isfunction(value):
                yield f"{each.name}.{name}", value
            elif inspect.isclass(value):
                for of, member in vars(value).items():
                    member = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
                    if inspect.isfunction(member):
                        yield f"{each.name}.{name}.{of}", member


def is_public(path: str) -> bool:
    return all(part in ("__init__", "__call__", "__new__") or not part.startswith("_") for part in path.split("."))


def test_no_public_signature_swallows_keywords() -> None:
    found = [path for path, f in callables() for parameter in inspect.signature(f).parameters.values()
             if is_public(path) and parameter.kind is parameter.VAR_KEYWORD and parameter.name.startswith("_")]
    assert not found


def test_the_search_finds_public_signatures() -> None:
    found = {path for path, _ in callables() if is_public(path)}
    assert len(found) > 200
    assert {"muster.executor.Executor.map", "muster.joblib.MusterBackend.configure"} <= found


def test_names_of_other_systems_are_explained(cluster: Cluster) -> None:
    c = cluster.coordinator()
    value = c.submit(int)
    handle = c.create(dict, task="worker:0")
    for owner, table in ((muster, _elsewhere.MODULE), (c, _elsewhere.COORDINATOR), (c.options(retries=1), _elsewhere.COORDINATOR),
                         (value, _elsewhere.VALUE), (handle.keys, _elsewhere.METHOD)):
        for name, instead in table.items():
            assert not hasattr(owner, name), name
            with pytest.raises(AttributeError) as caught:
                getattr(owner, name)
            assert f"has no attribute {name!r}; use {instead}" in str(caught.value)
        with pytest.raises(AttributeError, match="has no attribute 'no_such_name'$"):
            owner.no_such_name  # noqa: B018  it raises
    for name, instead in _elsewhere.OPTIONS.items():
        with pytest.raises(TypeError) as refused:
            c.options(**{name: 1})
        assert f"unknown option {name!r}; use {instead}" in str(refused.value)


def test_explained_names_exist() -> None:
    """Each call of a coordinator, value or handle that a hint mentions exists."""
    import re

    owners = {"coordinator": muster.ClusterCoordinator, "value": muster.RemoteValue, "handle": muster.RemoteObject,
              "muster": muster, "cluster": muster.LocalCluster}
    for table in (_elsewhere.MODULE, _elsewhere.COORDINATOR, _elsewhere.VALUE, _elsewhere.METHOD, _elsewhere.LOCAL_CLUSTER):
        for text in table.values():
            for owner, name in re.findall(r"\b(coordinator|value|handle|muster|cluster)\.(\w+)\(", text):
                assert name == "method" or hasattr(owners[owner], name), text


def test_protocol_lookups_of_python_see_no_explained_name(cluster: Cluster) -> None:
    value = cluster.coordinator().submit(int)
    for name in ("_repr_html_", "_ipython_display_", "__deepcopy__", "__array__", "__len__", "_ipython_canary_method_should_not_exist_"):
        assert not hasattr(value, name)
    assert copy.copy(muster.CoordinatorOptions()) == muster.CoordinatorOptions()
    with pytest.raises(TypeError, match="a RemoteValue cannot be pickled"):
        pickle.dumps(value)


def test_repr_of_a_coordinator_has_its_address_and_name(cluster: Cluster) -> None:
    c = cluster.coordinator(name="epoch 3")
    assert repr(c) == f"<muster.ClusterCoordinator {cluster.server.grpc} 'epoch 3'>"
    c.close()
    assert repr(c).endswith("'epoch 3', closed>")


def test_scripts_deps_installs_the_tests_of_cpython() -> None:
    deps = pathlib.Path(muster.__file__).parents[2] / "scripts" / "deps"
    assert "libpython3.11-testsuite" in deps.read_text()
