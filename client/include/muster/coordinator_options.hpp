// How a cluster_coordinator presents itself, and what a closure may ask for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/tls_options.hpp"

namespace muster {

struct coordinator_options {
  std::string server = "127.0.0.1:8476";  // "host:port", or several of which one serves: comma
  tls_options tls{};                      // else plaintext
  std::string cluster{};                  // empty: the default cluster
  std::string name{};                     // shown to operators
  /// Sent with every call, where the server asks for a token. Empty: MUSTER_TOKEN or
  /// MUSTER_TOKEN_FILE of the environment.
  std::string token{};
  /// Every closure runs, whatever the others do, and join raises nothing: each value has its own
  /// error. Else the first error cancels what is left and is raised.
  bool continue_on_error = false;
  /// Closures that may wait for a worker. While so many do, schedule and submit wait for room. 0:
  /// the server's default, 262,144 unless its --queue-capacity sets another limit. The client then
  /// waits only when the server's queue and pending_max are full.
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
  /// Share of the workers beside the weights of others that have work: 1 to 1000.
  std::uint32_t weight = 1;

  /// After a lost connection the session is resumed within this time, or everything that is not
  /// finished fails with unavailable_error. 0: the server's default, a minute.
  std::chrono::milliseconds session_grace{0};
  /// The session outlives the coordinator: its work is finished, and its values can be read over
  /// REST, until an hour after.
  bool detached = false;
  /// The session outlives the server's process. Unset: where the server has a data directory; true:
  /// else it is refused.
  std::optional<bool> durable{};

  std::chrono::milliseconds connect_timeout{10'000};
  /// How long schedule waits while the queue is full, then wait_timeout. 0: as long as it takes.
  std::chrono::milliseconds schedule_timeout{0};
  /// What may wait here to be sent. Full: schedule waits.
  std::size_t pending_max = 65'536;
  std::size_t pending_bytes_max = std::size_t{64} << 20;
};

struct closure_options {
  std::int32_t priority = 0;              // higher ones are dispatched first
  std::chrono::milliseconds delay{0};     // not before this long from now
  std::chrono::milliseconds deadline{0};  // not finished by then: TIMEOUT; 0: none
  std::uint32_t max_retries = 0;          // how often an error of the function is tried again
  std::chrono::milliseconds retry_initial{1'000};             // doubled with each retry, up to…
  std::chrono::milliseconds retry_max{60'000};                // …this
  std::string task_job{};                                     // only on tasks of this job
  std::int64_t task_index = -1;                               // only on this task of the job
  std::vector<std::pair<std::string, std::string>> labels{};  // only where all of them match
  std::vector<std::pair<std::string, std::uint32_t>> resources{};  // taken from it meanwhile
  /// What the function is to call, as people know it ("train.step"): shown instead of the function
  /// by listings, explain, the page, traces and metrics. 1 to 256 bytes; empty: the function.
  std::string display_name{};
  /// With a display name, the SHA-256 of what is called, 64 hexadecimal digits; or empty.
  std::string callable{};

  bool operator==(closure_options const&) const = default;
};

}  // namespace muster
