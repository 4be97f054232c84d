// How a worker presents itself, and its limits and times.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/tls_options.hpp"

namespace muster {

struct worker_options {
  /// "host:port", tried in turn.
  std::vector<std::string> servers{"127.0.0.1:8476"};
  /// The same as one text, as in all other options: "host:port", or several with commas. If it is
  /// not empty, `servers` is ignored.
  std::string server{};
  tls_options tls{};      // else plaintext
  std::string cluster{};  // empty: that of the server's port
  /// Sent with every call, where the server asks for a token. Empty: MUSTER_TOKEN or
  /// MUSTER_TOKEN_FILE of the environment.
  std::string token{};
  /// Where the server has no such cluster: true, try again until it is declared; false, run()
  /// returns 1, unless the server has welcomed this worker before.
  bool wait_for_cluster = false;
  std::string job = "worker";
  std::optional<std::uint32_t> index{};  // unset: the server picks
  /// Closures run at one time, each on a thread of its own. At least 1.
  std::uint32_t slots = 1;
  /// Closures held unanswered. 0: max(2 * slots, 16). The server may grant fewer.
  std::uint32_t credits = 0;
  std::map<std::string, std::string> labels{};
  /// How much of each resource there is for closures that ask for some, e.g. {"gpu", 2}.
  std::map<std::string, std::uint32_t> resources{};
  std::string host{};     // empty: this machine's name
  std::string version{};  // of the program, shown to operators

  /// Waiting time before the next attempt to connect: doubled from the first to the second, with
  /// jitter; starts over once a connection has lived for `backoff_reset_after`.
  std::chrono::milliseconds backoff_min{100};
  std::chrono::milliseconds backoff_max{5'000};
  std::chrono::milliseconds backoff_reset_after{5'000};
  /// From dialling to welcome; then the next server is tried.
  std::chrono::milliseconds connect_timeout{10'000};
  /// How long stop() or a server's drain lets functions run; then they are asked to stop.
  std::chrono::milliseconds drain_timeout{30'000};
  /// Leaves, as after stop(), when it has had neither closures nor ranks of programs for so long,
  /// whether a server was there or not. 0: never.
  std::chrono::milliseconds idle_timeout{0};
};

}  // namespace muster
