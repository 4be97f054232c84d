// Parallel arrays in the messages of sessions.
#pragma once

#include "client/wire.hpp"
#include "muster/v1/coordinator.pb.h"

namespace muster::detail {

/// Adds a call and returns its position.
inline int add_closure(v1::SessionRequest& m, std::uint64_t token, std::uint32_t function,
                       value_view args) {
  int const position = m.token_size();
  m.add_token(token);
  m.add_function(function);
  m.add_args(args.bytes.data(), args.bytes.size());
  proto::add_encoding(*m.mutable_encoding(), position, args.encoding == encoding::bytes);
  return position;
}

/// Appends the display name and hash of the last call, at `position`; an empty name means no
/// display name. If the message has an equal recent entry, refers to that entry.
inline void add_callable(v1::SessionRequest& m, int position, std::string_view name,
                         std::string_view hash) {
  constexpr int looked_at = 16;
  if (name.empty()) {
    if (m.callable_of_size() > 0) m.add_callable_of(0);
    return;
  }
  while (m.callable_of_size() < position) m.add_callable_of(0);
  int const size = m.callable_size();
  for (int n = size; n > 0 && n > size - looked_at; --n)
    if (auto const& c = m.callable(n - 1); c.name() == name && c.hash() == hash)
      return m.add_callable_of(static_cast<std::uint32_t>(n));
  auto& added = *m.add_callable();
  added.set_name(name.data(), name.size());
  added.set_hash(hash.data(), hash.size());
  m.add_callable_of(static_cast<std::uint32_t>(size + 1));
}

/// Returns an error if the outcome arrays differ in length, otherwise an empty string. If
/// `resumable`, each outcome must have an ID.
inline std::string wrong_columns(v1::SessionResponse const& m, bool resumable) {
  int const n = m.token_size();
  bool const fit = m.value_size() == n && (m.encoding_size() == 0 || m.encoding_size() == n) &&
                   (!resumable || m.closure_size() == n);
  return fit ? std::string() : "the server sent columns of unequal length";
}

/// Calls take(position, value, failure or null) for each outcome. Precondition: wrong_columns()
/// returned an empty string.
template <class Take>
void for_each_outcome(v1::SessionResponse const& m, Take take) {
  proto::sparse_column failures(m.failure());
  for (int i = 0; i < m.token_size(); ++i)
    take(i, value_view{m.value(i), encoding_at(m.encoding(), i)}, failures.at(i));
}

}  // namespace muster::detail
