// Reads the cluster from TF_CONFIG without a server.
#include <iostream>
#include <muster/make_resolver.hpp>

int main() {
  auto const spec = muster::make_resolver("tf-config")->cluster_spec();
  std::cout << spec.to_json() << '\n';
  return spec.num_tasks("worker") == 1 ? 0 : 1;
}
