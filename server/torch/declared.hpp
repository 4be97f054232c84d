// What a cluster's declaration says of its store of torch.distributed. Pure.
#pragma once

#include <optional>
#include <string>

#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/torch/torch_stores.hpp"

namespace muster::torch {

/// On this address, else the server's own.
inline store_spec store_at(core::coordination::cluster_spec const& spec, std::uint16_t port,
                           std::string address = {}) {
  bool const b = spec.torch == core::coordination::torch_era::b;
  return {std::move(address), port, b ? numbering::b : numbering::a};
}

/// Nothing: it declares none.
inline std::optional<store_spec> declared_store(core::coordination::cluster_spec const& spec) {
  if (!spec.torch_port) return std::nullopt;
  return store_at(spec, *spec.torch_port);
}

}  // namespace muster::torch
