// Reads all entries of one kind. Used by what loads jobs and programs.
#pragma once

#include <algorithm>
#include <string>

#include "server/journal/entries.hpp"

namespace muster::server::journal {

/// Calls `take(key, value)` for each entry whose key begins with `prefix`, in order. Returns
/// INTERNAL with the name of the first for which it returns false: it cannot be read, or does not
/// fit others.
template <class Take>
muster::status each_entry_of(store const& s, std::string const& prefix, Take take) {
  std::string damaged;
  auto const read = s.read(prefix, [&](std::string_view key, std::string_view value) {
    if (take(key, value)) return true;
    damaged = key;
    return false;
  });
  if (!read.ok() || damaged.empty()) return read;
  std::replace(damaged.begin(), damaged.end(), '\0', ' ');
  return {code::internal, "entry " + damaged + " cannot be read, or does not fit the others"};
}

/// The same for parsed messages: `take(key, message)`.
template <class Message, class Take>
muster::status each_entry(store const& s, std::string const& prefix, Take take) {
  return each_entry_of(s, prefix, [&](std::string_view key, std::string_view value) {
    Message m;
    return read_message(m, value) && take(key, m);
  });
}

}  // namespace muster::server::journal
