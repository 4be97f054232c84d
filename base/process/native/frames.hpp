// Names and lines of where sampled threads are, by the tables in the files that the process has
// mapped (libdw of elfutils, loaded when it is needed first).
//
// These files belong to whoever owns the process: those of a stranger are to be read in a process
// that has no more rights than it. One thread.
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
  static constexpr std::size_t frames_max = 64;           // of one thread; older ones are left out
  static constexpr std::size_t name_bytes_max = 200;      // of a function; the rest is cut
  static constexpr std::size_t known_names_max = 16'384;  // kept for other processes; more are not

  explicit frame_finder(char const* library = "libdw.so.1");
  frame_finder(frame_finder const&) = delete;
  ~frame_finder();

  /// False: the library is not here.
  bool can() const { return calls_ != nullptr; }
  /// UTF-8 as far as names are. Threads with the same stack stand together, the fewest first, and
  /// the first thread last, as faulthandler has them:
  ///
  ///   Thread pool-0 and 7 alike (most recent call first):
  ///     File "libc.so.6" in futex_wait
  ///   Thread train (most recent call first):
  ///     File "/src/train.cpp", line 12 in step(int)
  ///     File "/src/train.cpp", line 30 in main
  ///
  /// The first thread is named first; others that are not by `until` are left out. Empty: the first
  /// one was not, or none could be sampled.
  std::string frames_of(process_sample const& s, std::chrono::steady_clock::time_point until);

 private:
  struct functions;
  struct walk;
  /// None: it is too late.
  std::optional<std::string> frame_text(walk& w, std::uint64_t address);
  std::optional<std::string> thread_text(walk& w, thread_sample const& t);

  functions* calls_ = nullptr;
  std::map<std::pair<std::string, std::uint64_t>, std::string>
      known_;  // by file, and address in it
};

}  // namespace muster::native
