// Reports when TCP connections that other code reads are closed by the peer or break. gRPC reports
// such an end only to running calls. One thread waits for all connections. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/process/file_descriptor.hpp"

namespace muster::net {

class connection_ends {
 public:
  /// Called once per watch, on the thread of this class.
  using handler = std::function<void(std::uint64_t watch)>;

  explicit connection_ends(handler ended);
  /// Guarantees that no handler is called afterwards.
  ~connection_ends();
  connection_ends(connection_ends const&) = delete;

  /// Watches a copy of the descriptor until the connection ends or `forget` is called.
  /// @return the watch's number. Returns 0 if no descriptor is free, or if the socket's peer is not
  ///   `peer` ("10.0.0.3:4711"), because the descriptor number was reused.
  std::uint64_t watch(int socket, std::string const& peer);
  /// Ends a watch. Has no effect if the connection has ended.
  void forget(std::uint64_t watch);

 private:
  void run();

  handler const ended_;
  file_descriptor poll_, wake_;
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, file_descriptor> watched_;  // guarded by mutex_
  std::thread thread_;  // last member, because it uses the other members
};

}  // namespace muster::net
