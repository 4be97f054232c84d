// Settings of a worker that runs ranks of programs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/worker/rank_side.hpp"
#include "muster/tls_options.hpp"

namespace muster {

/// Returns SIGRTMIN + 5, which is not a compile-time constant.
int default_stack_signal();

struct program_options {
  /// Range of ports that ranks can listen on, inclusive. It must not overlap the kernel's range of
  /// ephemeral ports.
  std::uint16_t first_port = 20'000, last_port = 29'999;
  /// Ranks are killed shortly before the server has been silent for this long.
  std::chrono::milliseconds lease{60'000};
  /// Address of this machine for ranks on other machines. If empty, the local address of the route
  /// to the first server.
  std::string address{};
  /// User of the ranks. If empty, the user of the worker.
  std::string user{};
  /// Directory for working directories and output of ranks. If empty, a temporary directory that is
  /// removed when the worker ends.
  std::string directory{};
  /// Limits of the unpacked uploads kept in `directory`: total size and time since the last use.
  std::uint64_t cache_bytes_max = std::uint64_t{8} << 30;
  std::chrono::seconds cache_age{std::chrono::hours(7 * 24)};
  /// Signal at which Python ranks write their stacks. 0 disables it.
  int stack_signal = default_stack_signal();
  /// How long ranks that report steps can run on when the worker leaves, to reach an agreed step.
  std::chrono::milliseconds notice{20'000};
  /// TLS options for uploads and tunnels, the same as for connections to the worker's servers.
  tls_options tls{};
  std::string token{};
  /// Resources of the worker; "gpu" is the number of devices for ranks.
  std::map<std::string, std::uint32_t> resources{};
  /// Command line of the launcher of ranks (launch/ranks/rank_launcher.hpp).
  std::vector<std::string> launcher{"/proc/self/exe", "task-launcher"};
  /// Command line of the program that names the stack frames of non-Python ranks
  /// (native_stacks.hpp). If empty, the frames are not named.
  std::vector<std::string> stack_reader{"/proc/self/exe", "stack-reader"};
};

/// @param servers addresses of the servers that the worker connects to
/// @throws std::system_error if the directory cannot be created
std::unique_ptr<rank_side> make_rank_side(program_options options,
                                          std::vector<std::string> const& servers);

}  // namespace muster
