// The arguments of a closure: JSON text as the client sent it, or raw bytes. Pure functions.
#pragma once

#include <string>

#include "server/core/api/views.hpp"
#include "web/json/json_in.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

/// Sets the arguments of `closure` from `args` (an array) and `kwargs` (an object); both can be
/// null. The worker receives one of these forms:
///   [positional…]                        without kwargs
///   {"args":[…],"kwargs":{…}}            with kwargs
///   the bytes                            if the only argument is {"$bytes":"base64"}
///
/// {"$remote_value":"rv_…"} is removed from the text and becomes an input of the closure. Instead
/// of an ID, "#3" refers to the closure at position 3 of the same request. {"$per_worker":"pw_…"}
/// remains in the text and is recorded, because each worker inserts its own component. If the check
/// fails, `closure` must not be used.
void read_arguments(json_check& check, json_ref const* args, json_ref const* kwargs,
                    core::closure_spec& closure);

schema::json arguments_schema(std::string_view of = "Argument");
schema::json named_arguments_schema(std::string_view of = "Argument");
/// Returns `Argument` and `PlainArgument`, which contains no reference.
std::vector<schema::named> argument_schemas();

std::string display_arguments(core::closure_view const& c);

}  // namespace muster::web
