// Keys of program entries.
#pragma once

#include <string>
#include <string_view>

#include "base/text.hpp"
#include "server/core/api/ids.hpp"
#include "server/journal/key_numbers.hpp"

namespace muster::server::journal::program_keys {

/// One entry each for the submission, the state and the last placement; one per attempt, dead rank
/// and attempt record.
enum class kind : char {
  submitted = 'g',
  course = 'h',
  attempt = 'i',
  placement = 'l',
  rank = 'r',
  record = 'x'
};
inline constexpr kind kinds[] = {kind::submitted, kind::course, kind::attempt,
                                 kind::placement, kind::rank,   kind::record};

inline std::string below(kind k) {
  return std::string(1, static_cast<char>(k)) + '\0';
}
inline std::string of(kind k, core::program_id program) {
  return below(k) + hex16(raw(program));
}
inline std::string of(kind k, core::program_id program, std::uint32_t number) {
  auto const digits = std::to_string(number);
  return of(k, program) + '\0' + std::string(position_digits - digits.size(), '0') + digits;
}

/// Returns 0 if the key contains no ID.
inline core::program_id program_in(std::string_view key) {
  return core::program_id{id_in(key).value_or(0)};
}

}  // namespace muster::server::journal::program_keys
