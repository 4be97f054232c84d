#include "base/process/python_site.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

namespace muster {
namespace {

// jax.distributed.initialize() without arguments uses the first detected subclass of jax's
// ClusterEnv. The module must not import jax itself, so it creates the class when the program
// imports jax.
constexpr char const* rest_of_module = R"(
class _JaxClusters:  # a finder: runs once, when jax imports its own clusters
    def find_spec(self, name, path=None, target=None):
        import sys

        if name != "jax._src.clusters":
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                break
        else:
            return None
        try:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                try:
                    _offer_cluster(module.ClusterEnv)
                except Exception:
                    pass  # another version of jax: its initialize() wants arguments

            spec.loader.exec_module = exec_module
        except Exception:
            pass
        return spec


def _offer_cluster(base):
    import os

    class MusterCluster(base):
        name = "muster"

        @classmethod
        def is_env_present(cls):
            return all(
                name in os.environ
                for name in ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
            )

        @classmethod
        def get_coordinator_address(cls, *args, **kwargs):
            return os.environ["JAX_COORDINATOR_ADDRESS"]

        @classmethod
        def get_process_count(cls):
            return int(os.environ["JAX_NUM_PROCESSES"])

        @classmethod
        def get_process_id(cls):
            return int(os.environ["JAX_PROCESS_ID"])

        @classmethod
        def get_local_process_id(cls):
            return None  # it uses all devices that it sees

    # Before Slurm and others, whose allocation the processes may be in.
    base._cluster_types.remove(MusterCluster)
    base._cluster_types.insert(0, MusterCluster)


def _go_on():
    import importlib.machinery
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    seen = sys.__dict__.setdefault("_muster_sites", [])  # a run may be within another one
    if here in seen:
        return
    seen.append(here)
    others = [path for path in sys.path if os.path.abspath(path or ".") not in seen]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        module = importlib.util.module_from_spec(found)
        sys.modules["sitecustomize"] = module
        found.loader.exec_module(module)


def _offer_jax():
    import sys

    if not getattr(sys, "_muster_jax", False):  # this module may run again, by way of another one
        sys._muster_jax = True
        sys.meta_path.insert(0, _JaxClusters())


try:
    _offer_jax()
except Exception:
    pass
_go_on()
)";

}  // namespace

std::string python_site(std::string_view first) {
  return "# Written by Muster.\n" + std::string(first) + rest_of_module;
}

std::filesystem::path write_python_site(std::filesystem::path const& directory,
                                        std::string_view first) {
  auto file = directory / "sitecustomize.py";
  std::ofstream out(file);
  out << python_site(first);
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), file.string());
  using std::filesystem::perms;
  std::filesystem::permissions(
      file, perms::owner_read | perms::owner_write | perms::group_read | perms::others_read);
  return file;
}

}  // namespace muster
