// Starts a program as a child in a process group of its own, its two output streams in pipes.
// Whoever holds the `child` reaps it. Any thread; returns once the program runs, or cannot.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster {

using environment_map = std::map<std::string, std::string>;

/// This process's.
environment_map current_environment();

/// Whose rights a process has.
struct process_user {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups{};  // all of them

  bool operator==(process_user const&) const = default;
};

struct child_options {
  std::vector<std::string> argv;       // argv[0] is looked up in this process's PATH
  environment_map environment;         // all of it
  std::string cwd = {};                // empty: this process's
  std::optional<process_user> user{};  // unset: this process's; takes root
  int in = -1;                         // becomes its standard input; -1: that is empty
  /// The kernel kills it when the thread that started it is gone: it cannot outlive this process,
  /// and that thread must live as long as the child may.
  bool dies_with_thread = false;
  /// Its signals are as in a fresh process; with this, SIGINT and SIGHUP stay ignored where they
  /// are ignored here (nohup, background jobs of a shell).
  bool keeps_ignored_signals = false;
};

struct child {
  pid_t pid = 0;
  file_descriptor out, err;  // reading ends, non-blocking
};

/// Errors: std::invalid_argument (empty argv, a NUL byte, a name with '='); std::system_error with
/// errno of what failed, that of exec (ENOENT: no such command, EACCES: not executable) if it was
/// that. There is no child then.
child start_child(child_options const& options);

/// What a shell would answer if a command cannot be started: 127 not found, 126 otherwise.
int status_of_start_error(int error);

/// Returns the name of a signal, such as "SIGKILL", or "signal 40" if it has none.
std::string signal_name(int number);

}  // namespace muster
