// Where the threads of a process are, as bytes: registers and the newest part of each stack, from
// which frames are found later, elsewhere (frames.hpp). A thread is stopped by ptrace for as long
// as that takes to copy, tens of microseconds, gets no signal, and goes on in the same call.
//
//   sample(pid) ──► registers, stack bytes, memory map ──► bytes ──► frames_of, in another process
//
// Nothing of the process is read as code or as a file here, so a stranger's may be sampled by who
// has more rights than it.
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
  std::string name{};  // as the kernel has it
  /// By their numbers in DWARF for this processor.
  static constexpr std::size_t registers_max = 32;
  std::array<std::uint64_t, registers_max> registers{};
  std::uint64_t counter = 0, stack_pointer = 0;
  std::string stack{};  // from the stack pointer upwards
};

struct process_sample {
  pid_t process = 0;
  std::string map{};                     // as /proc has it
  std::vector<thread_sample> threads{};  // the first one first
  std::size_t left_out = 0;              // threads that could not be had in time, or are too many
};

/// Of one process. More threads are left out; of a deeper stack the oldest frames are.
inline constexpr std::size_t threads_max = 256;
inline constexpr std::size_t stack_bytes_max = std::size_t{64} << 10;
inline constexpr std::size_t map_bytes_max = std::size_t{4} << 20;

/// Of a process that this one may trace: one that it has started, itself or by others, of its user.
/// Waits until `until` at most. No threads: none may be looked at. Any thread; starts one.
process_sample sample(pid_t process, std::chrono::steady_clock::time_point until);

/// Of this process, but for the calling thread, which waits.
process_sample sample_own(std::chrono::steady_clock::time_point until);

/// For another process of the same machine.
std::string to_bytes(process_sample const& s);
/// Takes one from the front of `bytes`; none: they are not whole, or no sample.
std::optional<process_sample> from_bytes(std::string_view& bytes);

}  // namespace muster::native
