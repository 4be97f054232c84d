// Starts a program in its own process group, with pipes for its output. The owner of the `child`
// must reap the process. Thread-safe. Returns once the program is running or has failed to start.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster {

using environment_map = std::map<std::string, std::string>;

environment_map current_environment();

struct process_user {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups{};

  bool operator==(process_user const&) const = default;
};

struct child_options {
  std::vector<std::string> argv;  // argv[0] is looked up in this process's PATH
  environment_map environment;
  std::string cwd = {};  // if empty, this process's working directory
  // If empty, the child keeps this process's user. A different user requires root.
  std::optional<process_user> user{};
  int in = -1;  // the child's standard input; -1 means empty input
  /// The kernel kills the child when the thread that started it ends, so this thread must outlive
  /// the child.
  bool dies_with_thread = false;
  /// If true, the child ignores SIGINT and SIGHUP if this process does (nohup, background jobs).
  /// All other signals have their default action.
  bool keeps_ignored_signals = false;
};

struct child {
  pid_t pid = 0;
  file_descriptor out, err;  // non-blocking read ends of the pipes
};

/// @throws std::invalid_argument for an empty argv, a NUL byte, or a variable name with '=';
/// std::system_error with the errno of the failed call, including exec (ENOENT if the command does
/// not exist, EACCES if it is not executable)
child start_child(child_options const& options);

/// Returns a shell's exit status for a command that cannot be started: 127 if it is not found,
/// otherwise 126.
int status_of_start_error(int error);

/// Returns a name such as "SIGKILL", or "signal 40" if the number has no name.
std::string signal_name(int number);

}  // namespace muster
