// Compares a request with the earlier one that carried the same idempotency key. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace muster::core {

/// Longest idempotency key of a job or a program; longer ones are refused.
inline constexpr std::size_t idempotency_key_bytes_max = 256;

/// Returns OK if both digests are equal, or if one of them is unknown, as for jobs and programs of
/// older servers. Otherwise returns INVALID_ARGUMENT on the field `idempotency_key`. `known` is the
/// id that the earlier request created.
inline status same_request(std::string const& known, std::string_view earlier,
                           std::string_view now) {
  if (earlier.empty() || now.empty() || earlier == now) return {};
  return wrong_field("idempotency_key", "this key was already used for " + known +
                                            " with a different request; use a new key");
}

}  // namespace muster::core
