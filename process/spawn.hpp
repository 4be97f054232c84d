// Starts a program in a process group of its own. Any thread.
#pragma once

#include <sys/types.h>

#include "process/process.hpp"

namespace muster {

/// Descriptors that become the program's 0, 1 and 2.
struct standard_streams {
  int in;
  int out;
  int err;
};

/// Signals are as in a fresh process. Errors: as run_process.
pid_t spawn(process_options const& o, standard_streams streams);

}  // namespace muster
