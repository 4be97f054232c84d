// Reads all entries of one kind. Used by what loads jobs and programs.
#pragma once

#include <algorithm>
#include <string>

#include "server/journal/entries.hpp"

namespace muster::server::journal {

/// `take(key, message)` of each whose key begins with `prefix`, in order; false: it does not fit
/// the others. INTERNAL names the first that cannot be read, or does not fit.
template <class Message, class Take>
muster::status each_entry(store const& s, std::string const& prefix, Take take) {
  std::string damaged;
  auto const read = s.read(prefix, [&](std::string_view key, std::string_view value) {
    Message m;
    if (read_message(m, value) && take(key, m)) return true;
    damaged = key;
    return false;
  });
  if (!read.ok() || damaged.empty()) return read;
  std::replace(damaged.begin(), damaged.end(), '\0', ' ');
  return {code::internal, "entry " + damaged + " cannot be read, or does not fit the others"};
}

}  // namespace muster::server::journal
