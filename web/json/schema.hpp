// JSON Schema, put together from parts: what /openapi.json says of requests and answers. Pure
// functions, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace muster::web::schema {

using json = boost::json::object;

/// Lower-case hex of 64 bits behind a prefix, as ids are written.
json id(std::string_view prefix);
json any();
/// A body of bytes, as generators of clients know it.
json bytes();
json boolean();
json number();
json integer(std::int64_t min, std::uint64_t max);
/// From 0 on.
json count();
/// Milliseconds since the epoch; 0 when it has not happened.
json time();
json text();
/// In characters.
json text(std::size_t min, std::size_t max);
/// An ECMA 262 expression; `max` in characters, 0 for any number.
json matching(std::string_view pattern, std::size_t max = 0);
json one_of(std::span<std::string_view const> values);
json one_of(std::initializer_list<std::string_view> values);
json array(json items);
/// An object with any names.
json map(json values);
json map(json values, json names, std::size_t entries_max);
json nullable(json of);
json any_of(std::vector<json> of);
json ref(std::string_view name);
/// Numbers with units; beyond what can be is 422.
json duration(bool positive = false);
/// The same, with words for readers.
json described(json schema, std::string_view words);
/// More keywords for the same value.
json with(json schema, json const& more);

struct member {
  std::string_view name;
  json schema;
  bool required = true;
};
inline constexpr bool optional = false;

/// Of a request: other members are refused.
json closed_object(std::vector<member> members);
/// Of an answer: others may be added one day.
json object(std::vector<member> members);

/// A schema that others refer to.
struct named {
  std::string_view name;
  json schema;
};

}  // namespace muster::web::schema
