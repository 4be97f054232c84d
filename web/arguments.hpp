// How a closure's arguments travel to its worker: as the JSON text the client wrote, or as raw
// bytes. Pure function, web thread.
#pragma once

#include "server/core/blob.hpp"
#include "web/json_check.hpp"

namespace muster::web {

/// `args` (an array) and `kwargs` (an object), each may be null, as
///   [positional…]                        without kwargs
///   {"args":[…],"kwargs":{…}}            with some
///   the bytes                            for the single argument {"$bytes":"base64"}
/// {"$remote_value":…} and {"$per_worker":…} are refused (422) until the core knows inputs.
core::blob encode_arguments(json_check& check, json_ref const* args, json_ref const* kwargs);

}  // namespace muster::web
