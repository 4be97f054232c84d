// Converts failures, encodings and IDs to and from the wire format.
#pragma once

#include "muster/v1/common.pb.h"
#include "muster/value.hpp"
#include "proto/columns.hpp"

namespace muster {

/// Fills all fields except the position. Truncates strings at 64 KiB and makes them valid UTF-8.
void to_wire(failure const& from, v1::Failure& to);
failure from_wire(v1::Failure const& from);

inline encoding encoding_at(google::protobuf::RepeatedField<int> const& column, int position) {
  return proto::is_bytes(column, position) ? encoding::bytes : encoding::json;
}

}  // namespace muster
