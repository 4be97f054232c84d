// The functions that every bundled worker has: muster.noop, muster.echo, muster.sleep, muster.fail,
// muster.worker_info, text.word_count and, if allowed, muster.exec.
#pragma once

#include "muster/worker.hpp"

namespace muster {

struct bundled_options {
  /// Let schedulers run any program on this machine, as the worker's user.
  bool allow_exec = false;
};

/// REQUIRES: before worker.run().
void add_bundled_functions(worker& w, bundled_options options = {});

}  // namespace muster
