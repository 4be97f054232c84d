// Settings of a worker that runs program ranks.
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
  /// Inclusive range of ports that ranks can listen on. Must not overlap the kernel's ephemeral
  /// ports.
  std::uint16_t first_port = 20'000, last_port = 29'999;
  /// Ranks are killed shortly before the server has been silent for this long.
  std::chrono::milliseconds lease{60'000};
  /// Address of this machine for ranks on other machines; if empty, the local address of the route
  /// to the first server.
  std::string address{};
  /// User that runs the ranks; if empty, the worker's user.
  std::string user{};
  /// Directory for the ranks' working directories and output; if empty, a temporary directory that
  /// is removed when the worker ends.
  std::string directory{};
  /// Limits for the unpacked uploads in `directory`: their total size, and the time since their
  /// last use.
  std::uint64_t cache_bytes_max = std::uint64_t{8} << 30;
  std::chrono::seconds cache_age{std::chrono::hours(7 * 24)};
  /// Signal that makes Python ranks write their stacks. 0 disables stack sampling.
  int stack_signal = default_stack_signal();
  /// Time for ranks that report steps to reach an agreed step when the worker leaves.
  std::chrono::milliseconds notice{20'000};
  /// TLS options for uploads and tunnels, equal to the worker's TLS options.
  tls_options tls{};
  std::string token{};
  /// The worker's resources; "gpu" is the number of devices for ranks.
  std::map<std::string, std::uint32_t> resources{};
  /// Command line of the rank launcher (launch/ranks/rank_launcher.hpp).
  std::vector<std::string> launcher{"/proc/self/exe", "task-launcher"};
  /// Command line of the program that resolves the frame names of non-Python ranks
  /// (native_stacks.hpp). If empty, frames have no names.
  std::vector<std::string> stack_reader{"/proc/self/exe", "stack-reader"};
};

/// @param servers addresses of the servers that the worker connects to
/// @throws std::system_error if the directory cannot be created
std::unique_ptr<rank_side> make_rank_side(program_options options,
                                          std::vector<std::string> const& servers);

}  // namespace muster
