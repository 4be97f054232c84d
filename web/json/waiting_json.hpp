// Gangs and wishes as the JSON of the REST contract. Pure functions.
#pragma once

#include "server/core/api/waiting_views.hpp"
#include "web/json/json_out.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

void write(json_out& out, core::gang_view const& g);
void write(json_out& out, core::gangs_view const& all);
void write(json_out& out, core::wish_view const& w);
void write(json_out& out, core::wishes_view const& all);

/// What these write.
std::vector<schema::named> waiting_schemas();

}  // namespace muster::web
