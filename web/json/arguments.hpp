// How a closure's arguments travel to its worker: as the JSON text the client wrote, or as raw
// bytes. Pure functions, web thread.
#pragma once

#include <string>

#include "server/core/api/views.hpp"
#include "web/json/json_in.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

/// Sets the arguments of `closure`, of `args` (an array) and `kwargs` (an object), each may be
/// null:
///   [positional…]                        without kwargs
///   {"args":[…],"kwargs":{…}}            with some
///   the bytes                            for the single argument {"$bytes":"base64"}
/// {"$remote_value":"rv_…"} anywhere in them is cut out and becomes an input; "#3" in place of the
/// id means the closure at position 3 of the same request. {"$per_worker":"pw_…"} stays where it is
/// and is noted: the worker puts its own component there. Either gives the closure extras of its
/// own. When the check fails, the closure is not to be used.
void read_arguments(json_check& check, json_ref const* args, json_ref const* kwargs,
                    core::closure_spec& closure);

/// What `args` and `kwargs` may be, each argument of the schema of that name.
schema::json arguments_schema(std::string_view of = "Argument");
schema::json named_arguments_schema(std::string_view of = "Argument");
/// Argument, and PlainArgument, which refers to nothing.
std::vector<schema::named> argument_schemas();

/// The text as it was sent, references and all, for people.
std::string shown_arguments(core::closure_view const& c);

}  // namespace muster::web
