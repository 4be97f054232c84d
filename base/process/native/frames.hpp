// Finds function names and lines for sampled threads in the debug tables of the mapped files. Uses
// libdw of elfutils, loaded at first use.
//
// The owner of the process controls these files. Read another user's files only in an unprivileged
// process. Not thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/process/native/thread_samples.hpp"

namespace muster::native {

class frame_finder {
 public:
  // Maximum number of frames. Deeper stacks lose their oldest frames.
  static constexpr std::size_t frames_max = 64;
  static constexpr std::size_t name_bytes_max = 200;
  // Maximum number of cached names.
  static constexpr std::size_t known_names_max = 16'384;

  explicit frame_finder(char const* library = "libdw.so.1");
  frame_finder(frame_finder const&) = delete;
  ~frame_finder();

  bool can() const { return calls_ != nullptr; }
  /// Returns the stacks as text, which is valid UTF-8 if the names are. Threads with the same stack
  /// are grouped, the smallest group first. The first thread is last, as in faulthandler:
  ///
  ///   Thread pool-0 and 7 identical threads (most recent call first):
  ///     File "libc.so.6" in futex_wait
  ///   Thread train (most recent call first):
  ///     File "/src/train.cpp", line 12 in step(int)
  ///     File "/src/train.cpp", line 30 in main
  ///
  /// The first thread is resolved first. Threads that are not resolved by `until` are omitted.
  /// Empty if the first thread is omitted, or no thread was sampled.
  std::string frames_of(process_sample const& s, std::chrono::steady_clock::time_point until);

 private:
  struct functions;
  struct walk;
  /// Returns nothing if the deadline has passed.
  std::optional<std::string> frame_text(walk& w, std::uint64_t address);
  std::optional<std::string> thread_text(walk& w, thread_sample const& t);

  functions* calls_ = nullptr;
  std::map<std::pair<std::string, std::uint64_t>, std::string> known_;
};

}  // namespace muster::native
