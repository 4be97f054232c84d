// The TCPStore settings of a cluster declaration. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/torch/torch_stores.hpp"

namespace muster::torch {

/// An empty address selects the server's address.
inline store_spec store_at(core::coordination::cluster_spec const& spec, std::uint16_t port,
                           std::string address = {}) {
  bool const b = spec.torch == core::coordination::torch_era::b;
  return {std::move(address), port, b ? numbering::b : numbering::a};
}

inline std::optional<store_spec> declared_store(core::coordination::cluster_spec const& spec) {
  if (!spec.torch_port) return std::nullopt;
  return store_at(spec, *spec.torch_port);
}

}  // namespace muster::torch
