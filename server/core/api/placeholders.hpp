// Arguments that contain outputs of other closures. Scheduling removes the references from the text
// and leaves gaps, so that values can be inserted without a parser. Arguments in bytes have no
// gaps: values are sent separately, in input order, and `offset` states the encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/model.hpp"

namespace muster::core {

/// Offsets for arguments in bytes. The value is either opaque or a Python pickle.
inline constexpr std::uint32_t beside_opaque = 0;
inline constexpr std::uint32_t beside_pickled = 1;

/// Returns `args` with text_of(i) inserted into the gap of inputs[i]. REQUIRES: offsets are
/// ascending and within `args`.
template <class TextOf>
std::string fill_gaps(std::string_view args, std::vector<input_ref> const& inputs,
                      TextOf&& text_of) {
  std::string filled;
  std::size_t from = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    filled += args.substr(from, inputs[i].offset - from);
    filled += text_of(i);
    from = inputs[i].offset;
  }
  return filled += args.substr(from);
}

}  // namespace muster::core
