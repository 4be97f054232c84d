// Serves the TCPStores of clusters. One thread owns all stores and sockets, because switching
// threads takes longer than a call.
//
// Owned by the composition root. Used only on the engine thread once it runs, unless stated
// otherwise. When a store reaches its connection limit (`torch::limits`), it stops accepting, and
// clients wait in the backlog. Silent connections are kept open: torch 1.13 has a second, silent
// connection and busy-loops if this connection is closed.
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

struct store_incident {
  std::string cluster;
  incident what;
};

struct torch_server_options {
  torch::limits limits;
  std::string address = "127.0.0.1";
  /// Clients outside these networks are disconnected immediately.
  std::vector<muster::server::network> from;
  // Called on any thread.
  std::function<core::time_point()> now;
  // Called on the store thread, like the functions that follow.
  std::function<void(store_incident)> tell = [](store_incident const&) {};
  std::function<void()> out_of_descriptors = [] {};
  std::function<void(std::string const& what)> failed = [](std::string const&) {};
};

/// A program's store. It has no port; workers forward their ranks' connections to it.
struct carried_store {
  std::string name;
  std::uint32_t ranks = 0;  // number of expected ranks; 0 if unknown
  numbering early = numbering::a;
};

class torch_server final : public torch_stores {
 public:
  explicit torch_server(torch_server_options options);
  ~torch_server() override;
  torch_server(torch_server const&) = delete;

  muster::result<std::string> open(std::uint64_t cluster, std::string const& name,
                                   store_spec const& where) override;
  bool has(std::uint64_t cluster) const override;
  void close(std::uint64_t cluster) override;
  std::string address(std::uint64_t cluster) const override;
  void visit(std::uint64_t cluster, std::function<void(tcp_store*)> f) override;

  void begin(std::uint64_t cluster, carried_store const& what);
  /// Connects a client, such as "10.0.0.3:4711", of this rank to a program's store. Creates the
  /// store if necessary. Returns RESOURCE_EXHAUSTED if no descriptor or port is free.
  muster::result<file_descriptor> dial(std::uint64_t cluster, carried_store const& what,
                                       std::string peer, std::uint32_t rank);

  void start(std::function<std::thread(std::function<void()>)> const& thread);
  /// Closes all stores and connections, and ends the thread. Idempotent.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::torch
