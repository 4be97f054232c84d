// The functions of every bundled worker: muster.noop, muster.echo, muster.sleep, muster.fail,
// muster.worker_info, text.word_count and, if allowed, muster.exec.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>

#include "muster/worker.hpp"

namespace muster {

struct bundled_options {
  /// If true, callers can run any program on this machine as the worker's user.
  bool allow_exec = false;
};

/// Must be called before worker.run().
void add_bundled_functions(worker& w, bundled_options options = {});

/// muster.echo: returns its argument unchanged, or a list if there are several arguments.
void echo(context& c, value_view args, value& result);

/// Counts the words of a file. Words are runs of A-Z and a-z, converted to lower case. Equivalent
/// to
///
///     LC_ALL=C tr -cs 'A-Za-z' '\n' < f | tr 'A-Z' 'a-z' | sed '/^$/d' | sort | uniq -c
///
/// Returns partial counts when `stop` is requested. Throws std::system_error with the path.
std::map<std::string, std::uint64_t> count_words(std::string const& path, std::stop_token stop);

}  // namespace muster
