// Reports the end of TCP connections that other code reads, whether the peer closed them or they
// broke. gRPC reports this only to calls, in all known versions. A single thread waits for all
// connections. Any thread.
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
  /// No handler is called afterwards.
  ~connection_ends();
  connection_ends(connection_ends const&) = delete;

  /// Watches a socket. Keeps a copy of the descriptor until the connection ends or `forget` is
  /// called.
  /// @return the number of the watch; 0 if no descriptor is free, or if the peer of the socket is
  ///   not `peer` ("10.0.0.3:4711"), because its number was reused.
  std::uint64_t watch(int socket, std::string const& peer);
  /// Ends a watch. Does nothing if the connection has ended.
  void forget(std::uint64_t watch);

 private:
  void run();

  handler const ended_;
  file_descriptor poll_, wake_;
  std::mutex mutex_;
  std::uint64_t last_ = 0;  // under mutex_
  std::unordered_map<std::uint64_t, file_descriptor>
      watched_;         // under mutex_; bounded by the descriptors
  std::thread thread_;  // last, since it uses all members above
};

}  // namespace muster::net
