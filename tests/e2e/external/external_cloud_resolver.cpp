// Uses the resolvers that query services, by description and by class.
#include <iostream>
#include <muster/cloud_resolver_kinds.hpp>
#include <muster/gce_resolver.hpp>
#include <muster/kubernetes_resolver.hpp>
#include <muster/tpu_resolver.hpp>

namespace {

muster::environment_lookup nothing() {
  return [](std::string const&) { return std::optional<std::string>(); };
}

}  // namespace

int main() {
  auto const spec =
      muster::all_resolver_kinds().make("tpu:name=grpc://10.0.0.1,10.0.0.2")->cluster_spec();
  std::cout << spec.to_json() << '\n';
  muster::tpu_resolver::options tpu;
  tpu.tpu.tpu = {"grpc://10.0.0.1"};
  auto const master = muster::tpu_resolver(nothing(), tpu).master();
  try {
    muster::kubernetes_resolver(nothing(), {}).cluster_spec();
    return 1;
  } catch (muster::cluster_error const& e) {
    std::cout << e.what() << '\n';
  }
  muster::gce_resolver::options gce;
  gce.instance_group = "g";
  muster::gce_resolver const group(nothing(), gce);
  return spec.num_tasks("worker") == 2 && master == "grpc://10.0.0.1:8470" ? 0 : 1;
}
