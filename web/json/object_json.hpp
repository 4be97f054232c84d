// Objects on tasks in the JSON of the REST contract. Pure.
#pragma once

#include "server/core/api/objects.hpp"
#include "web/json/members.hpp"

namespace muster::web {

void members(member_list const& m, core::objects::object_view const& o);

}  // namespace muster::web
