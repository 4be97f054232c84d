// Failures, encodings and ids to and from the wire. Pure; any thread.
#pragma once

#include "muster/v1/common.pb.h"
#include "muster/value.hpp"
#include "proto/columns.hpp"

namespace muster {

/// Fills everything but the position; texts become valid UTF-8 and are cut at 64 KiB.
void to_wire(failure const& from, v1::Failure& to);
failure from_wire(v1::Failure const& from);

/// Of entry `position` of the column.
inline encoding encoding_at(google::protobuf::RepeatedField<int> const& column, int position) {
  return proto::is_bytes(column, position) ? encoding::bytes : encoding::json;
}

}  // namespace muster
