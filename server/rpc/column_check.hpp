// Checks the parallel arrays of messages. Error messages contain the field name. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "muster/v1/common.pb.h"
#include "server/core/api/blob.hpp"

namespace muster::server {

inline std::string unequal(std::string field, int size, int expected,
                           std::string_view of = "closures") {
  return field + ": " + std::to_string(size) + " entries for " + std::to_string(expected) + " " +
         std::string(of);
}

inline std::string wrong_encoding(std::string field, v1::Encoding e) {
  if (v1::Encoding_IsValid(e)) return {};
  return field + ": unknown number " + std::to_string(static_cast<int>(e));
}

template <class Message>
std::string wrong_encodings(Message const& m, int n) {
  if (m.encoding_size() != 0 && m.encoding_size() != n)
    return unequal("encoding", m.encoding_size(), n);
  for (int i = 0; i < m.encoding_size(); ++i)
    if (!v1::Encoding_IsValid(m.encoding(i)))
      return wrong_encoding("encoding[" + std::to_string(i) + "]", m.encoding(i));
  return {};
}

inline core::encoding encoding_of(bool bytes) {
  return bytes ? core::encoding::bytes : core::encoding::json;
}

}  // namespace muster::server
