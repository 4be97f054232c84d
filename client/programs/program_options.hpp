// How a worker takes ranks of programs, and who runs them. A value; `muster worker` fills it.
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

/// SIGRTMIN + 5, which is no number that the compiler knows.
int default_stack_signal();

struct program_options {
  /// That ranks may listen at, both inclusive: outside of what the kernel gives to who dials.
  std::uint16_t first_port = 20'000, last_port = 29'999;
  /// Ranks are killed when the server has not been heard for nearly so long.
  std::chrono::milliseconds lease{60'000};
  /// Of this machine, for ranks on others. Empty: that of the way to the first server.
  std::string address{};
  /// Whose rights ranks have; empty: the worker's.
  std::string user{};
  /// Where ranks have their working directories and what they printed. Empty: a directory of its
  /// own that goes with the worker.
  std::string directory{};
  /// Uploads that were unpacked stay below it for other ranks: no more than so many bytes together,
  /// none that was not used for so long.
  std::uint64_t cache_bytes_max = std::uint64_t{8} << 30;
  std::chrono::seconds cache_age{std::chrono::hours(7 * 24)};
  /// What ranks that are Python programs write their stacks at; 0: ranks are not prepared for it.
  int stack_signal = default_stack_signal();
  /// When the worker leaves, ranks that say steps may go on for so long, to the one they agree on.
  std::chrono::milliseconds notice{20'000};
  /// As the worker speaks to its servers: for uploads, and for tunnels.
  tls_options tls{};
  std::string token{};
  /// Those of the worker, of which ranks get devices: "gpu".
  std::map<std::string, std::uint32_t> resources{};
  /// The launcher of ranks (launch/ranks/rank_launcher.hpp) and its words.
  std::vector<std::string> launcher{"/proc/self/exe", "task-launcher"};
  /// What names the frames of ranks that are not Python (native_stacks.hpp); empty: nobody does.
  std::vector<std::string> stack_reader{"/proc/self/exe", "stack-reader"};
};

/// `servers`: of the worker. Errors: std::system_error, the directory cannot be made.
std::unique_ptr<rank_side> make_rank_side(program_options options,
                                          std::vector<std::string> const& servers);

}  // namespace muster
