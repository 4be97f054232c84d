// The columns of a session's messages, which all sessions fill and read alike.
#pragma once

#include "client/wire.hpp"
#include "muster/v1/coordinator.pb.h"

namespace muster::detail {

/// Appends what every closure has. Returns its position.
inline int add_closure(v1::SessionRequest& m, std::uint64_t token, std::uint32_t function,
                       value_view args) {
  int const position = m.token_size();
  m.add_token(token);
  m.add_function(function);
  m.add_args(args.bytes.data(), args.bytes.size());
  proto::add_encoding(*m.mutable_encoding(), position, args.encoding == encoding::bytes);
  return position;
}

/// Empty, or what is wrong with the columns of outcomes. `holding`: each has a closure's id.
inline std::string wrong_columns(v1::SessionResponse const& m, bool holding) {
  int const n = m.token_size();
  bool const fit = m.value_size() == n && (m.encoding_size() == 0 || m.encoding_size() == n) &&
                   (!holding || m.closure_size() == n);
  return fit ? std::string() : "the server sent columns of unequal length";
}

/// Calls take(position, value, failure or null) for each outcome. REQUIRES: no wrong_columns().
template <class Take>
void for_each_outcome(v1::SessionResponse const& m, Take take) {
  proto::sparse_column failures(m.failure());
  for (int i = 0; i < m.token_size(); ++i)
    take(i, value_view{m.value(i), encoding_at(m.encoding(), i)}, failures.at(i));
}

}  // namespace muster::detail
