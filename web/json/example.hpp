// A value that fits a JSON Schema, for the examples of /openapi.json. Pure, any thread.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <string_view>

#include "web/json/schema.hpp"

namespace muster::web::schema {

/// By name, what references in schemas stand for.
using named_schemas = std::map<std::string_view, json>;

/// Returns a value that fits `of`: each member that its schema names, with a plausible value by the
/// member's name, and one element of each list. `name`: of the member or the parameter.
boost::json::value example_of(json const& of, named_schemas const& all, std::string_view name = {});

}  // namespace muster::web::schema
