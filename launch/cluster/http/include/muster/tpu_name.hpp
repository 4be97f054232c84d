// Which TPU is meant: what the program says, else the environment. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/cluster_resolver.hpp"

namespace muster::cluster {

struct tpu_name {
  std::string name;                    // as it was given, for texts
  bool local = false;                  // the chips of this machine
  std::vector<std::string> endpoints;  // given in place of a name, so nobody need be asked
  std::string project, zone;           // where they were said together with the name

  /// "localhost:8470" or "/bns/…": a server that is there already, handed on as it is.
  std::string master = {};

  /// TensorFlow's environment "google": no cluster is to be found and no server to be started.
  bool google() const { return local || !master.empty(); }
  /// The Cloud TPU API knows where it is.
  bool by_api() const { return !google() && endpoints.empty(); }
};

/// Ports that addresses have when they say none.
constexpr int tpu_port = 8470;
/// Endpoints in one text.
constexpr std::size_t tpu_endpoints_max = 100'000;

/// From `given`, else KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS, TPU_NAME and TPU_CONFIG in this order.
/// `local`, localhost:PORT, /bns/…, a name, or addresses with commas between, the first with
/// grpc:// in front. missing: no name anywhere; invalid: none or several in the list, or it is no
/// name.
tpu_name find_tpu(std::optional<std::vector<std::string>> const& given,
                  environment_lookup const& environment);

}  // namespace muster::cluster
