// Tells when TCP connections have ended that somebody else reads: the peer closed them, or they
// broke. gRPC tells only calls of that; no version known that tells more. One thread of its own
// that waits for all of them. Owned by whoever asks; any thread.
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
  /// Called on its thread, once a watch.
  using handler = std::function<void(std::uint64_t watch)>;

  explicit connection_ends(handler ended);
  /// Nothing is told any more.
  ~connection_ends();
  connection_ends(connection_ends const&) = delete;

  /// Keeps a copy of the socket, which needs a descriptor, until it has ended; then or before, the
  /// copy is closed. Gives the watch's number; 0: there is no descriptor left, or the socket is
  /// none of that peer ("10.0.0.3:4711"): its number may be another's by now.
  std::uint64_t watch(int socket, std::string const& peer);
  /// Harmless when it has ended.
  void forget(std::uint64_t watch);

 private:
  void run();

  handler const ended_;
  file_descriptor poll_, wake_;
  std::mutex mutex_;
  std::uint64_t last_ = 0;  // under mutex_
  std::unordered_map<std::uint64_t, file_descriptor>
      watched_;         // under mutex_; as many as descriptors
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace muster::net
