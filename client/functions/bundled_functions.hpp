// The functions that every bundled worker has: muster.noop, muster.echo, muster.sleep, muster.fail,
// muster.worker_info, text.word_count and, if allowed, muster.exec.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>

#include "muster/worker.hpp"

namespace muster {

struct bundled_options {
  /// Let schedulers run any program on this machine, as the worker's user.
  bool allow_exec = false;
};

/// REQUIRES: before worker.run().
void add_bundled_functions(worker& w, bundled_options options = {});

/// muster.echo: gives its argument back, a list if there are several, untouched.
void echo(context& c, value_view args, value& result);

/// The words of a file: runs of A-Z a-z, in lower case, whatever bytes lie between. The same as
///   LC_ALL=C tr -cs 'A-Za-z' '\n' < f | tr 'A-Z' 'a-z' | sed '/^$/d' | sort | uniq -c
/// Ends early, with part of the counts, when `stop` is requested. Errors: std::system_error with
/// the path.
std::map<std::string, std::uint64_t> count_words(std::string const& path, std::stop_token stop);

}  // namespace muster
