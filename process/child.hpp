// Starts a program as a child that cannot outlive this process: in a process group of its own, and
// killed by the kernel when the thread that started it is gone. The calling thread must therefore
// live as long as the child may. Its signals are as in a fresh process, except that SIGINT and
// SIGHUP stay ignored where they are ignored here (nohup, background jobs of a shell).
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "process/file_descriptor.hpp"

namespace muster::launch {

struct child_options {
  std::vector<std::string> argv;                   // argv[0] is looked up in PATH
  std::map<std::string, std::string> environment;  // all of it
};

struct child {
  pid_t pid = 0;
  file_descriptor out, err;  // reading ends, non-blocking; its standard input is empty
};

/// Errors: std::system_error with errno of what failed; that of exec (ENOENT: no such command,
/// EACCES: not executable) if it was that, and then there is no child.
child start_child(child_options const& options);

/// What a shell would answer if a command cannot be started: 127 not found, 126 otherwise.
int status_of_start_error(int error);

}  // namespace muster::launch
