// Arguments with the outputs of other closures in them. The references are cut out of the text when
// it is scheduled and leave gaps, so that putting the values in needs no parser. Arguments in bytes
// have no gaps: the values go beside them, in the order of the inputs, and an input's offset says
// what a value in bytes is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/model.hpp"

namespace muster::core {

/// Offsets beside arguments in bytes: the value's bytes are opaque, or a pickle of Python.
inline constexpr std::uint32_t beside_opaque = 0;
inline constexpr std::uint32_t beside_pickled = 1;

/// `args` with text_of(i) put into the gap of inputs[i]. REQUIRES: offsets ascend and are within.
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
