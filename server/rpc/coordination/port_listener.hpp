// Accepts TCP connections on ports that come and go while the server runs, on a thread of its own
// that starts with the first port. Belongs to one thread, which calls everything here; connections
// are handed over on the listener's thread. When the process has no more files, accepting pauses
// for 100 ms at a time and connections wait in the backlog.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/status.hpp"

namespace muster::server {

/// Owns an open file.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(unique_fd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~unique_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// A connected socket, non-blocking, without Nagle's delay.
struct accepted_socket {
  std::uint32_t listener = 0;  ///< the key given to `listen`
  unique_fd socket;
  std::string peer;  ///< "10.0.0.3:4711"
};

class port_listener {
 public:
  using handler = std::function<void(accepted_socket)>;

  /// `accepted` is called on the listener's thread.
  explicit port_listener(handler accepted);
  ~port_listener();
  port_listener(port_listener const&) = delete;

  /// Gives the port; port 0 lets the system pick one. INVALID_ARGUMENT: no IP address.
  /// FAILED_PRECONDITION: the system's reason. REQUIRES: the key is not in use.
  muster::result<std::uint16_t> listen(std::uint32_t key, std::string const& address,
                                       std::uint16_t port);
  /// Soon, not at once.
  void close(std::uint32_t key);
  /// Closes everything and ends the thread. Idempotent; nothing is accepted afterwards.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::server
