// Visits all entries of one kind.
#pragma once

#include <string>

#include "server/journal/described_entry.hpp"
#include "server/journal/entries.hpp"
#include "server/journal/store.hpp"

namespace muster::server::journal {

/// @return INTERNAL with the entry's name if `take(key, value)` returned false for an unreadable or
///   inconsistent entry.
template <class Take>
muster::status each_entry_of(store const& s, std::string const& prefix, Take take) {
  std::string damaged;
  auto const read = s.read(prefix, [&](std::string_view key, std::string_view value) {
    if (take(key, value)) return true;
    damaged = name_of(key).text();
    return false;
  });
  if (!read.ok() || damaged.empty()) return read;
  return {code::internal, damaged + " cannot be read, or contradicts other entries"};
}

/// Decodes each entry. A damaged entry stops the visit with INTERNAL.
template <class Entry, class Take>
muster::status each_entry(store const& s, std::string const& prefix, Take take) {
  return each_entry_of(s, prefix, [&](std::string_view key, std::string_view value) {
    Entry e;
    bool in_range = true;
    return decode_entry(value, e, in_range) && in_range && take(key, e);
  });
}

}  // namespace muster::server::journal
