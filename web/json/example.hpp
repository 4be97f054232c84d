// Creates values that match a JSON Schema, for the examples in /openapi.json. Pure functions.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <string_view>

#include "web/json/schema.hpp"

namespace muster::web::schema {

using named_schemas = std::map<std::string_view, json>;

/// Returns a value with every object member and one element of each list. `name`, the name of the
/// member or parameter, helps to select a plausible string.
boost::json::value example_of(json const& of, named_schemas const& all, std::string_view name = {});

}  // namespace muster::web::schema
