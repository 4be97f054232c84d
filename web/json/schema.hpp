// Builds JSON Schemas for /openapi.json. Pure functions.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace muster::web::schema {

using json = boost::json::object;

json id(std::string_view prefix);
json any();
/// Binary data, in the form that client generators expect.
json bytes();
json boolean();
json number();
json integer(std::int64_t min, std::uint64_t max);
json count();
/// Milliseconds since the epoch; 0 if the event has not happened.
json time();
json text();
/// `min` and `max` are in characters.
json text(std::size_t min, std::size_t max);
/// `pattern` is an ECMA 262 expression. `max` is in characters; 0 means no limit.
json matching(std::string_view pattern, std::size_t max = 0);
json one_of(std::span<std::string_view const> values);
json one_of(std::initializer_list<std::string_view> values);
json array(json items);
json map(json values);
json map(json values, json names, std::size_t entries_max);
json nullable(json of);
json any_of(std::vector<json> of);
json ref(std::string_view name);
/// Values that are too large are answered with 422.
json duration(bool positive = false);
json described(json schema, std::string_view words);
json with(json schema, json const& more);

struct member {
  std::string_view name;
  json schema;
  bool required = true;
};
inline constexpr bool optional = false;

/// A request object, which must not have other members.
json closed_object(std::vector<member> members);
/// A response object, to which later versions can add members.
json object(std::vector<member> members);

struct named {
  std::string_view name;
  json schema;
};

}  // namespace muster::web::schema
