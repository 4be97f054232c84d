// Clusters and what is in them as the JSON of the REST contract, and the declaration of one from
// JSON. Pure functions.
#pragma once

#include "server/core/coordination/api/views.hpp"
#include "server/hub/event_log.hpp"
#include "web/json/json_check.hpp"
#include "web/json/json_out.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

namespace coordination = core::coordination;

/// What read_cluster takes.
schema::named cluster_schema();
/// The body of POST /api/v1/clusters. What the core checks is not checked here.
coordination::cluster_spec read_cluster(json_check& check, json_ref const& body);

void write(json_out& out, coordination::generation_view const& g);
/// The key "agents": how many are in each state.
void write_agents(json_out& out, coordination::generation_view const& g);
/// The fields of the declaration, into an open object.
void write_fields(json_out& out, coordination::cluster_spec const& spec);
void write(json_out& out, coordination::agent_view const& a, core::time_point now);
/// `with_tasks`: who arrived and who is missing, by name.
void write(json_out& out, coordination::barrier_view const& b, core::time_point now,
           bool with_tasks);
void write(json_out& out, coordination::straggler_view const& v);
void write(json_out& out, coordination::key_view const& k, bool with_value);
void write(json_out& out, server::event const& e);

std::string_view severity_name(coordination::severity s);  // "INFO", "WARNING", "ERROR"

/// The key "value" with text when the bytes are UTF-8, else "value_base64".
void write_bytes(json_out& out, std::string_view bytes);

/// Since then, in milliseconds, never negative.
std::int64_t ms_since(core::time_point then, core::time_point now);

}  // namespace muster::web
