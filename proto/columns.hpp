// Sparse columns of repeated fields. A column is empty if all entries have the default (JSON, or
// 0). Otherwise it is as long as the other columns.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>

#include "muster/v1/common.pb.h"

namespace muster::proto {

/// Appends the encoding of entry `position`, counted from 0.
/// @pre Must be called for every entry, in order.
inline void add_encoding(google::protobuf::RepeatedField<int>& column, int position, bool bytes) {
  if (!bytes && column.empty()) return;
  while (column.size() < position) column.Add(v1::JSON);
  column.Add(bytes ? v1::BYTES : v1::JSON);
}

/// Appends a number to a sparse column. 0 is the default.
/// @pre Must be called for every entry, in order.
inline void add_sparse(google::protobuf::RepeatedField<std::uint32_t>& column, int position,
                       std::uint32_t value) {
  if (value == 0 && column.empty()) return;
  while (column.size() < position) column.Add(0);
  column.Add(value);
}

inline bool is_bytes(google::protobuf::RepeatedField<int> const& column, int position) {
  return position < column.size() && column.Get(position) == v1::BYTES;
}

/// Reads entries that contain their position, in parallel with other columns. The field must
/// outlive this object.
template <class Entry>
class sparse_column {
 public:
  explicit sparse_column(google::protobuf::RepeatedPtrField<Entry> const& entries)
      : next_(entries.begin()), end_(entries.end()) {}

  /// Returns the entry with this position, or null.
  /// @pre Must be called for every position, ascending from 0.
  Entry const* at(int position) {
    if (next_ == end_ || next_->position() != static_cast<std::uint32_t>(position)) return nullptr;
    return &*next_++;
  }

 private:
  typename google::protobuf::RepeatedPtrField<Entry>::const_iterator next_, end_;
};

}  // namespace muster::proto
