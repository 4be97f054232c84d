// The arguments of a closure: the JSON text that the client sent, or raw bytes. Pure functions, web
// thread.
#pragma once

#include <string>

#include "server/core/api/views.hpp"
#include "web/json/json_in.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

/// Sets the arguments of `closure` from `args` (an array) and `kwargs` (an object); both may be
/// null. The worker receives one of:
///   [positional…]                        without kwargs
///   {"args":[…],"kwargs":{…}}            with kwargs
///   the bytes                            if the only argument is {"$bytes":"base64"}
///
/// {"$remote_value":"rv_…"} is removed from the text and becomes an input of the closure. In place
/// of an id, "#3" means the closure at position 3 of the same request. {"$per_worker":"pw_…"} stays
/// in the text and is recorded, since each worker inserts its own component. If the check fails,
/// `closure` must not be used.
void read_arguments(json_check& check, json_ref const* args, json_ref const* kwargs,
                    core::closure_spec& closure);

/// Returns the schemas of `args` and `kwargs`; each argument has the schema named `of`.
schema::json arguments_schema(std::string_view of = "Argument");
schema::json named_arguments_schema(std::string_view of = "Argument");
/// Returns the schemas `Argument` and `PlainArgument`; a `PlainArgument` contains no reference.
std::vector<schema::named> argument_schemas();

/// Returns the arguments as text for display, with references as they were sent.
std::string display_arguments(core::closure_view const& c);

}  // namespace muster::web
