// How a coordination_agent presents itself, its times, and what it tells of others.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "muster/coordination_error.hpp"
#include "muster/tls_options.hpp"

namespace muster {

struct coordination_options {
  std::string server = "127.0.0.1:8476";  // "host:port" of the cluster's port
  tls_options tls{};                      // else plaintext; the server's `agents=tls`
  /// Sent with every call, where the server asks for a token. Empty: MUSTER_TOKEN or
  /// MUSTER_TOKEN_FILE of the environment.
  std::string token{};
  /// Which task of the cluster this process is, from 0, counted through its jobs as declared.
  std::uint32_t task = 0;
  /// Tells this process from others that were the same task before. 0: random. Used for the first
  /// connect(); later ones draw another.
  std::uint64_t incarnation = 0;

  /// When the service has not answered for this long, the agent has failed. The agent sends a
  /// heartbeat twice in this time, or twice in the cluster's heartbeat timeout if that is shorter.
  std::chrono::milliseconds heartbeat_timeout{100'000};
  /// How long connect() waits for the service to be there and for all tasks to register.
  std::chrono::milliseconds connect_timeout{300'000};
  /// How long shutdown() waits for the others, if the cluster leaves together.
  std::chrono::milliseconds shutdown_timeout{300'000};
  /// Of calls that wait for nobody.
  std::chrono::milliseconds call_timeout{10'000};
  /// How often a watch asks for what has changed.
  std::chrono::milliseconds watch_interval{100};

  /// Hears of the error that ends a run, once for each connect(): another task died, reported an
  /// error or was restarted, or the service is gone. Called on the library's thread: must be short
  /// and not throw, and may not call anything of the agent that waits.
  std::function<void(agent_error const&)> on_error{};
};

/// The agent's own view of itself.
enum class agent_state : std::uint8_t { idle, connecting, connected, failed, shut_down };

enum class task_state : std::uint8_t { disconnected = 2, connected = 3, error = 4 };

/// One task of the cluster, as the service sees it.
struct task_status {
  std::uint32_t task = 0;
  task_state state = task_state::disconnected;
  std::uint64_t incarnation = 0;  // 0: never registered
  std::optional<coordination_code> error{};
  std::string message{};  // of the error
};

/// The tasks of the cluster at one moment.
struct task_list {
  std::vector<task_status> tasks;
  std::int64_t version = 0;  // grows with every change
};

/// Connected, and under this incarnation.
struct live_task {
  std::uint32_t task = 0;
  std::uint64_t incarnation = 0;
  bool operator==(live_task const&) const = default;
};

struct key_value {
  std::string key;
  std::string value;
  bool operator==(key_value const&) const = default;
};

/// What a watch tells.
struct key_change {
  std::string key;
  std::optional<std::string> value;  // none: it was deleted
};

}  // namespace muster
