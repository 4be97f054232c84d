// Interface to the TCPStores of all clusters. Called on the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.hpp"
#include "server/torch/tcp_store.hpp"

namespace muster::torch {

struct store_spec {
  std::string address;     // IP address; if empty, the server's address
  std::uint16_t port = 0;  // if 0, the system selects a port
  numbering early = numbering::a;
};

class torch_stores {
 public:
  virtual ~torch_stores() = default;

  /// Starts a cluster's store and returns its address, such as "127.0.0.1:29500". Returns
  /// FAILED_PRECONDITION with the system's reason if the store cannot listen. REQUIRES: the cluster
  /// has no store.
  virtual muster::result<std::string> open(std::uint64_t cluster, std::string const& name,
                                           store_spec const& where) = 0;
  virtual bool has(std::uint64_t cluster) const = 0;
  /// Closes the store; its connections are closed later. Has no effect if the cluster has no store.
  virtual void close(std::uint64_t cluster) = 0;
  /// Returns an empty string if the cluster has no store, or if the store belongs to a program and
  /// has no port.
  virtual std::string address(std::uint64_t cluster) const = 0;
  /// Calls `f` on the store thread, with null if the store no longer exists. Does not call `f` if
  /// the server stops first.
  virtual void visit(std::uint64_t cluster, std::function<void(tcp_store*)> f) = 0;
};

}  // namespace muster::torch
