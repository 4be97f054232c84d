// How a session presents itself, its limits and times, and what it counts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "muster/tls_options.hpp"

namespace muster {

struct session_options {
  std::string server = "127.0.0.1:8476";  // "host:port", or several of which one serves: comma
  tls_options tls{};                      // else plaintext
  std::string cluster{};                  // empty: the default cluster
  std::string name{};                     // shown to operators
  /// Sent with every call, where the server asks for a token. Empty: MUSTER_TOKEN or
  /// MUSTER_TOKEN_FILE of the environment.
  std::string token{};
  /// Else the first error cancels what is queued.
  bool continue_on_error = false;
  /// Closures queued at the server; while it is full, the server does not read. 0: its default.
  std::uint64_t queue_capacity = 0;
  /// Lost workers or processes after which a closure fails with aborted_error: up to 255; 0: no
  /// limit. Unset: the server's default, 3. What is scheduled with `schedule` then survives any
  /// number of lost workers, and only ends of the process that executes it count. Each retry waits
  /// longer, from 0.1 s to 30 s.
  std::optional<std::uint32_t> max_worker_failures{};
  /// As max_worker_failures = 0.
  bool unlimited_worker_failures = false;
  /// Closures whose function no connected worker has fail at once.
  bool require_function = false;
  /// How many workers each job has that holds no state: what functions are told as
  /// context::num_workers, whoever is connected. 0: the cluster's declaration, else the highest
  /// index and one.
  std::uint32_t num_workers = 0;

  /// What may wait here to be sent. Full: schedule blocks, try_schedule refuses.
  std::size_t pending_max = 65'536;
  std::size_t pending_bytes_max = std::size_t{64} << 20;
  std::chrono::milliseconds connect_timeout{10'000};
};

struct session_stats {
  std::uint64_t scheduled = 0;
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;  // of those finished
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
};

/// The session has ended or never began; what() is the reason.
class session_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace muster
