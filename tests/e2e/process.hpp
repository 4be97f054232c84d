// A real child process with its output in files. It ends with its object at the latest.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/temporary_directory.hpp"
#include "tests/support/text.hpp"

namespace muster::e2e {

using namespace std::chrono_literals;
using test::count;
using test::first_line;
using test::lines;
using test::read_file;
using test::temporary_directory;

/// Waits until `condition` holds. Returns false if it does not within `limit`.
bool await(std::function<bool()> const& condition, std::chrono::milliseconds limit = 20s);

/// Returns the state from /proc, such as 'R'; 'X' if the process does not exist.
char process_state(pid_t pid);
/// Returns whether a process exists and is not a zombie. The process that adopts zombies need not
/// reap them.
bool alive(pid_t pid);
/// Returns the oldest living child; 0 if there is none.
pid_t first_child_of(pid_t parent);

struct spawn_options {
  std::vector<std::string> arguments;  // the first is the program
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path input;  // empty: no input
  std::filesystem::path output, errors;
};

class process {
 public:
  explicit process(spawn_options options);
  ~process();
  process(process&& other) noexcept;
  process(process const&) = delete;

  void signal(int number) const;
  /// Sends SIGKILL, and waits for the end.
  void kill_at_once();
  /// Returns the exit status, or 128 + signal; nullopt if the process still runs after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit = 30s);
  bool running();

  std::string output() const { return read_file(options_.output); }
  std::string errors() const { return read_file(options_.errors); }
  /// Waits until the error output contains `text`. Events are logged after they happened.
  ::testing::AssertionResult says(std::string_view text) const;
  pid_t pid() const { return pid_; }

 private:
  spawn_options options_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace muster::e2e
