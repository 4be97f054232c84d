// Builds JSON Schemas for the requests and answers in /openapi.json. Pure functions, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace muster::web::schema {

using json = boost::json::object;

/// An id: a prefix and 64 bits in lower-case hex.
json id(std::string_view prefix);
json any();
/// A binary body, in the form that client generators expect.
json bytes();
json boolean();
json number();
json integer(std::int64_t min, std::uint64_t max);
/// An integer of at least 0.
json count();
/// Milliseconds since the epoch; 0 if it has not happened.
json time();
json text();
/// Limits are in characters.
json text(std::size_t min, std::size_t max);
/// `pattern`: an ECMA 262 expression. `max`: in characters, 0 for no limit.
json matching(std::string_view pattern, std::size_t max = 0);
json one_of(std::span<std::string_view const> values);
json one_of(std::initializer_list<std::string_view> values);
json array(json items);
/// An object with arbitrary names.
json map(json values);
json map(json values, json names, std::size_t entries_max);
json nullable(json of);
json any_of(std::vector<json> of);
json ref(std::string_view name);
/// A duration string with units. Values that are too large are answered 422.
json duration(bool positive = false);
json described(json schema, std::string_view words);
json with(json schema, json const& more);

struct member {
  std::string_view name;
  json schema;
  bool required = true;
};
inline constexpr bool optional = false;

/// An object of a request: other members are rejected.
json closed_object(std::vector<member> members);
/// An object of an answer: members may be added later.
json object(std::vector<member> members);

/// A schema that others reference by name.
struct named {
  std::string_view name;
  json schema;
};

}  // namespace muster::web::schema
