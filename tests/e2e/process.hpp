// A real child process with its output in files, ended at the latest with its object.
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

/// Tries `condition` until it holds; false when it does not within `limit`.
bool await(std::function<bool()> const& condition, std::chrono::milliseconds limit = 20s);

/// As /proc has it, such as 'R'; 'X' for one that there is no more.
char process_state(pid_t pid);
/// Zombies are not: whoever adopts them need not reap them.
bool alive(pid_t pid);
/// The oldest of those that it started and that are there; 0: none.
pid_t first_child_of(pid_t parent);

struct spawn_options {
  std::vector<std::string> arguments;  // the first is the program
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path input;  // empty: nothing to read
  std::filesystem::path output, errors;
};

class process {
 public:
  explicit process(spawn_options options);
  ~process();
  process(process&& other) noexcept;
  process(process const&) = delete;

  void signal(int number) const;
  /// As kill -9 does; it is gone when this returns.
  void kill_at_once();
  /// The exit status, or 128 + signal. Nothing when it is still running after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit = 30s);
  bool running();

  std::string output() const { return read_file(options_.output); }
  std::string errors() const { return read_file(options_.errors); }
  /// Waits until `text` stands in its errors, which are written after what they tell of.
  ::testing::AssertionResult says(std::string_view text) const;
  pid_t pid() const { return pid_; }

 private:
  spawn_options options_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace muster::e2e
