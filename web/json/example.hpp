// Creates values that match a JSON Schema, for the examples in /openapi.json. Pure, any thread.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <string_view>

#include "web/json/schema.hpp"

namespace muster::web::schema {

/// The schemas that a `$ref` can refer to, by name.
using named_schemas = std::map<std::string_view, json>;

/// Returns a value that matches `of`, with every object member and one element of each list. `name`
/// is the name of the member or parameter; a plausible string is selected by it.
boost::json::value example_of(json const& of, named_schemas const& all, std::string_view name = {});

}  // namespace muster::web::schema
