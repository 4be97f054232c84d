// JSON Schema as text, put together from parts: what /openapi.json says of requests and answers.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::web::schema {

/// Lower-case hex of 64 bits behind a prefix, as ids are written.
std::string id(std::string_view prefix);
std::string any();
/// A body of bytes, as generators of clients know it.
std::string bytes();
std::string boolean();
std::string number();
std::string integer(std::int64_t min, std::uint64_t max);
/// From 0 on.
std::string count();
/// Milliseconds since the epoch; 0 when it has not happened.
std::string time();
std::string text();
/// In characters.
std::string text(std::size_t min, std::size_t max);
/// An ECMA 262 expression; `max` in characters, 0 for any number.
std::string matching(std::string_view pattern, std::size_t max = 0);
std::string one_of(std::span<std::string_view const> values);
std::string one_of(std::initializer_list<std::string_view> values);
std::string array(std::string const& items);
/// An object with any names.
std::string map(std::string const& values);
std::string map(std::string const& values, std::string const& names, std::size_t entries_max);
std::string nullable(std::string const& of);
std::string any_of(std::vector<std::string> const& of);
std::string ref(std::string_view name);
/// Numbers with units; beyond what can be is 422.
std::string duration(bool positive = false);
/// The same, with words for readers.
std::string described(std::string const& schema, std::string_view words);
/// More keywords for the same value, as JSON members: `"maximum":3`.
std::string with(std::string const& schema, std::string_view members);

struct member {
  std::string_view name;
  std::string schema;
  bool required = true;
};
inline constexpr bool optional = false;

/// Of a request: other members are refused.
std::string closed_object(std::vector<member> const& members);
/// Of an answer: others may be added one day.
std::string object(std::vector<member> const& members);

/// A schema that others refer to.
struct named {
  std::string_view name;
  std::string schema;
};

}  // namespace muster::web::schema
