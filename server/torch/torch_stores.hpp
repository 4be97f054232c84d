// The stores of torch.distributed of all clusters, as whoever declares clusters or looks at them
// sees them. Functions are called on the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.hpp"
#include "server/torch/station.hpp"

namespace muster::torch {

/// Where one is served.
struct store_spec {
  std::string address;     // an IP address; empty: the server's own
  std::uint16_t port = 0;  // 0: whatever the system picks
  numbering early = numbering::a;
};

class torch_stores {
 public:
  virtual ~torch_stores() = default;

  /// Serves the store of this cluster from now on and gives its address, "127.0.0.1:29500".
  /// FAILED_PRECONDITION: the system's reason. REQUIRES: it has none.
  virtual muster::result<std::string> open(std::uint64_t cluster, std::string const& name,
                                           store_spec const& where) = 0;
  virtual bool has(std::uint64_t cluster) const = 0;
  /// Closes its connections, soon. Harmless when there is none.
  virtual void close(std::uint64_t cluster) = 0;
  /// Empty: it has none, or it is a program's, which no port serves.
  virtual std::string address(std::uint64_t cluster) const = 0;
  /// Runs `f` on the thread of the stores, with null if it has none any more; dropped unrun when
  /// the server stops before.
  virtual void visit(std::uint64_t cluster, std::function<void(station*)> f) = 0;
};

}  // namespace muster::torch
