// The encoding column: left out while every entry is JSON, else as long as the others.
#pragma once

#include <google/protobuf/repeated_field.h>

#include "muster/v1/common.pb.h"

namespace muster::proto {

/// Appends the encoding of entry `position` (from 0). REQUIRES: called for every entry in order.
inline void add_encoding(google::protobuf::RepeatedField<int>& column, int position, bool bytes) {
  if (!bytes && column.empty()) return;
  while (column.size() < position) column.Add(v1::JSON);
  column.Add(bytes ? v1::BYTES : v1::JSON);
}

inline bool is_bytes(google::protobuf::RepeatedField<int> const& column, int position) {
  return !column.empty() && column.Get(position) == v1::BYTES;
}

}  // namespace muster::proto
