// Columns of what few entries have: the encoding, or a number, left out while every entry is JSON,
// or has none, and else as long as the others; and messages that name the position they belong to.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>

#include "muster/v1/common.pb.h"

namespace muster::proto {

/// Appends the encoding of entry `position` (from 0). REQUIRES: called for every entry in order.
inline void add_encoding(google::protobuf::RepeatedField<int>& column, int position, bool bytes) {
  if (!bytes && column.empty()) return;
  while (column.size() < position) column.Add(v1::JSON);
  column.Add(bytes ? v1::BYTES : v1::JSON);
}

/// The same for a number, which is 0 for entries that have none.
inline void add_sparse(google::protobuf::RepeatedField<std::uint32_t>& column, int position,
                       std::uint32_t value) {
  if (value == 0 && column.empty()) return;
  while (column.size() < position) column.Add(0);
  column.Add(value);
}

inline bool is_bytes(google::protobuf::RepeatedField<int> const& column, int position) {
  return position < column.size() && column.Get(position) == v1::BYTES;
}

/// Read in order of positions beside the columns that it belongs to, which it must not outlive.
template <class Entry>
class sparse_column {
 public:
  explicit sparse_column(google::protobuf::RepeatedPtrField<Entry> const& entries)
      : next_(entries.begin()), end_(entries.end()) {}

  /// Null where there is none. REQUIRES: called for every position, from 0 up.
  Entry const* at(int position) {
    if (next_ == end_ || next_->position() != static_cast<std::uint32_t>(position)) return nullptr;
    return &*next_++;
  }

 private:
  typename google::protobuf::RepeatedPtrField<Entry>::const_iterator next_, end_;
};

}  // namespace muster::proto
