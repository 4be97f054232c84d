// Commands of torch's TCPStore and their numbers, which differ between versions. Pure data.
// Numberings:
//
//   a   torch 1.13 and 2.0
//   b   torch 2.1
//   c   torch 2.2 and later, which announce it by their first command
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::torch {

enum class numbering : std::uint8_t { a, b, c };
std::string_view name(numbering n);
std::optional<numbering> numbering_of(std::string_view name);

enum class op : std::uint8_t {
  validate,
  set,
  compare_set,
  get,
  add,
  check,
  wait,
  count_keys,
  watch,
  delete_key,
  append,
  multi_get,
  multi_set,
  cancel_wait,
  ping,
  queue_push,
  queue_pop,
  queue_length,
  list_keys,
  barrier,
};
std::string_view name(op what);

/// The data after a command byte: `words` strings (a key, then values), then a number. If `counted`
/// is set, a count precedes the strings and states how often they repeat.
struct shape {
  unsigned words = 0;
  bool counted = false;
  unsigned number_bytes = 0;
};
shape shape_of(op what);

/// Returns nothing if the numbering has no such command.
std::optional<op> command_of(numbering n, std::uint8_t byte);

inline constexpr std::uint32_t magic = 0x3C85F7CE;

}  // namespace muster::torch
