// REST JSON of objects on tasks. Pure functions.
#pragma once

#include "server/core/api/datasets.hpp"
#include "web/json/members.hpp"

namespace muster::web {

void members(member_list const& m, core::objects::object_view const& o);
void members(member_list const& m, core::datasets::dataset_view const& d);

}  // namespace muster::web
