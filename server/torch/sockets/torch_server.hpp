// Serves the stores of torch.distributed: ports, sockets and their bytes, on a thread of its own
// that owns every station. A client's call is answered without another thread: two hops would take
// longer than the call.
//
// Owned by the composition root; engine thread, or before that runs, unless it says otherwise.
// Limits: those of `torch::limits` a store; at its limit of connections a store accepts no more
// until one has closed, and clients wait in the system's backlog. No connection is closed for its
// silence: torch 1.13 has a second one that never speaks, and spins when it is closed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/hub/access/networks.hpp"
#include "server/net/loopback_pair.hpp"
#include "server/torch/torch_stores.hpp"

namespace muster::torch {

/// What people are told of one cluster's store.
struct told_incident {
  std::string cluster;
  incident what;
};

struct torch_server_options {
  torch::limits limits;
  std::string address = "127.0.0.1";  // of stores that name none
  /// Whoever comes from elsewhere is closed at once.
  std::vector<muster::server::network> from;
  // Any thread.
  std::function<core::time_point()> now;
  // The thread of the stores.
  std::function<void(told_incident)> tell = [](told_incident const&) {};
  std::function<void()> out_of_descriptors = [] {};
  std::function<void(std::string const& what)> failed = [](std::string const&) {};
};

/// Of a program: no port serves it, workers carry their ranks' connections to it.
struct carried_store {
  std::string name;         // of its cluster
  std::uint32_t ranks = 0;  // that are expected; 0: nobody knows
  numbering early = numbering::a;
};

class torch_server final : public torch_stores {
 public:
  explicit torch_server(torch_server_options options);
  /// Stops.
  ~torch_server() override;
  torch_server(torch_server const&) = delete;

  muster::result<std::string> open(std::uint64_t cluster, std::string const& name,
                                   store_spec const& where) override;
  bool has(std::uint64_t cluster) const override;
  void close(std::uint64_t cluster) override;
  std::string address(std::uint64_t cluster) const override;
  void visit(std::uint64_t cluster, std::function<void(station*)> f) override;

  /// An attempt of a program begins, with no keys.
  void begin(std::uint64_t cluster, carried_store const& what);
  /// A connection to that store, which speaks for this client, "10.0.0.3:4711", and is of this
  /// rank. Begins one where there is none. RESOURCE_EXHAUSTED: no descriptors or ports are left.
  muster::result<file_descriptor> dial(std::uint64_t cluster, carried_store const& what,
                                       std::string peer, std::uint32_t rank);

  /// Begins to accept. Once.
  void start(std::function<std::thread(std::function<void()>)> const& thread);
  /// Closes everything and ends the thread. Idempotent.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::torch
