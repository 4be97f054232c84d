// Samples a process's threads: registers and the newest part of each stack. Another process
// resolves the frames later (frames.hpp). ptrace stops a thread for tens of microseconds while its
// stack is copied. The thread receives no signal and continues in the same system call.
//
// The process's data is never interpreted here, so a privileged process can sample another user's
// process.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::native {

struct thread_sample {
  pid_t thread = 0;
  std::string name{};
  /// The index is this processor's DWARF register number.
  static constexpr std::size_t registers_max = 32;
  std::array<std::uint64_t, registers_max> registers{};
  std::uint64_t counter = 0, stack_pointer = 0;
  std::string stack{};  // bytes from the stack pointer upwards
};

struct process_sample {
  pid_t process = 0;
  std::string map{};                     // contents of /proc/PID/maps
  std::vector<thread_sample> threads{};  // first thread first
  // threads that were not sampled in time, or exceed the maximum
  std::size_t left_out = 0;
};

/// Limits per process. Samples omit further threads, and the oldest frames of deeper stacks.
inline constexpr std::size_t threads_max = 256;
inline constexpr std::size_t stack_bytes_max = std::size_t{64} << 10;
inline constexpr std::size_t map_bytes_max = std::size_t{4} << 20;

/// Samples a process that this process may trace: a descendant of the same user. Blocks at most
/// until `until`. Thread-safe; starts a thread. Returns no threads if tracing is not permitted.
process_sample sample(pid_t process, std::chrono::steady_clock::time_point until);

/// Samples this process except the calling thread, which waits.
process_sample sample_own(std::chrono::steady_clock::time_point until);

/// Serialises a sample for another process on this machine.
std::string to_bytes(process_sample const& s);
/// Removes a sample from the front of `bytes` and returns it. Returns nothing if the sample is
/// incomplete or invalid.
std::optional<process_sample> from_bytes(std::string_view& bytes);

}  // namespace muster::native
