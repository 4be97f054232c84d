// Clusters and what is in them as the JSON of the REST contract, and the declaration of one from
// JSON. Pure functions.
#pragma once

#include "server/core/coordination/api/coordination_views.hpp"
#include "server/core/coordination/api/events.hpp"
#include "server/history/barriers/stragglers.hpp"
#include "server/hub/event_log.hpp"
#include "web/json/json_in.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

namespace coordination = core::coordination;

/// Members that read_cluster accepts.
schema::named cluster_schema();
/// The body of POST /api/v1/clusters. What the core checks is not checked here.
coordination::cluster_spec read_cluster(json_check& check, json_ref const& body);

/// Members that read_cluster_failure accepts.
schema::named cluster_failure_schema();
/// The body of POST /api/v1/clusters/{cluster}/fail; the caller fills in the cluster.
coordination::fail_cluster read_cluster_failure(json_check& check, json_ref const& body);

/// Members that read_task_error accepts.
schema::named task_error_schema();
/// The body of POST /api/v1/clusters/{cluster}/tasks/{job}/{index}/error. The caller fills in the
/// task.
coordination::report_error read_task_error(json_check& check, json_ref const& body);

template <>
inline constexpr std::string_view schema_name<coordination::generation_view> = "Generation";
template <>
inline constexpr std::string_view schema_name<coordination::key_view> = "KeyView";

void members(member_list const& m, coordination::generation_view const& g);
/// Its agents: how many are in each state.
void agent_counts(member_list const& m, coordination::generation_view const& g);
/// The declaration.
void members(member_list const& m, coordination::cluster_spec const& spec);
/// How many tasks each job has.
void job_sizes(member_list const& m, std::string_view name, coordination::cluster_spec const& of);
void members(member_list const& m, coordination::agent_view const& a, core::time_point now);
/// `with_tasks`: who arrived and who is missing, by name.
void members(member_list const& m, coordination::barrier_view const& b, core::time_point now,
             bool with_tasks);
void members(member_list const& m, history::straggler_view const& v);
void members(member_list const& m, coordination::key_view const& k, bool with_value = true);
void members(member_list const& m, server::event const& e);

/// Null if there is no deadline.
maybe_ms time_left(core::time_point deadline, core::time_point now);

}  // namespace muster::web
