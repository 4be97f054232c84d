// Serves the TCPStores of clusters. One thread owns all stations and sockets, since a call passed
// to another thread and back would take longer than the call itself.
//
// Owned by the composition root. Engine thread, or before that runs, unless stated otherwise.
// Limits per store: `torch::limits`. At the limit of connections a store stops accepting, and
// clients wait in the backlog. Silent connections are not closed: torch 1.13 has a second, silent
// connection, and spins if it is closed.
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

/// An incident of a cluster's store, for the log.
struct store_incident {
  std::string cluster;
  incident what;
};

struct torch_server_options {
  torch::limits limits;
  std::string address = "127.0.0.1";  // for stores without an address
  /// Clients from other networks are disconnected at once.
  std::vector<muster::server::network> from;
  // Any thread.
  std::function<core::time_point()> now;
  // Called on the thread of the stores.
  std::function<void(store_incident)> tell = [](store_incident const&) {};
  std::function<void()> out_of_descriptors = [] {};
  std::function<void(std::string const& what)> failed = [](std::string const&) {};
};

/// The store of a program. It has no port; workers forward the connections of their ranks to it.
struct carried_store {
  std::string name;
  std::uint32_t ranks = 0;  // expected ranks; 0: unknown
  numbering early = numbering::a;
};

class torch_server final : public torch_stores {
 public:
  explicit torch_server(torch_server_options options);
  /// Calls stop().
  ~torch_server() override;
  torch_server(torch_server const&) = delete;

  muster::result<std::string> open(std::uint64_t cluster, std::string const& name,
                                   store_spec const& where) override;
  bool has(std::uint64_t cluster) const override;
  void close(std::uint64_t cluster) override;
  std::string address(std::uint64_t cluster) const override;
  void visit(std::uint64_t cluster, std::function<void(tcp_store*)> f) override;

  /// Begins an attempt of a program with an empty store.
  void begin(std::uint64_t cluster, carried_store const& what);
  /// Opens a connection to the store of a program for a client, "10.0.0.3:4711", of this rank.
  /// Begins the store if there is none. Errors: RESOURCE_EXHAUSTED if no descriptor or port is
  /// free.
  muster::result<file_descriptor> dial(std::uint64_t cluster, carried_store const& what,
                                       std::string peer, std::uint32_t rank);

  /// Starts to accept. Called once.
  void start(std::function<std::thread(std::function<void()>)> const& thread);
  /// Closes everything and ends the thread. Idempotent.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::torch
