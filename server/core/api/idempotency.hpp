// Compares a request with an earlier request that had the same idempotency key.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace muster::core {

/// Maximum length of the idempotency key of a job or program. Longer keys are refused.
inline constexpr std::size_t idempotency_key_bytes_max = 256;

/// Returns OK if the digests are equal or if either is empty, as in records of older servers.
/// Otherwise returns INVALID_ARGUMENT for the field `idempotency_key`. `known` is the id that the
/// earlier request created.
inline status same_request(std::string const& known, std::string_view earlier,
                           std::string_view now) {
  if (earlier.empty() || now.empty() || earlier == now) return {};
  return wrong_field("idempotency_key", "this key was already used for " + known +
                                            " with a different request; use a new key");
}

}  // namespace muster::core
