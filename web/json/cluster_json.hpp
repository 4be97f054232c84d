// REST JSON of clusters, and readers of cluster requests. Pure functions.
#pragma once

#include "server/core/coordination/api/coordination_views.hpp"
#include "server/core/coordination/api/events.hpp"
#include "server/history/barriers/stragglers.hpp"
#include "server/hub/event_log.hpp"
#include "web/json/json_in.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

namespace coordination = core::coordination;

schema::named cluster_schema();
/// Reads the body of POST /api/v1/clusters. The core checks the result.
coordination::cluster_spec read_cluster(json_check& check, json_ref const& body);

schema::named cluster_failure_schema();
/// Reads the body of POST /api/v1/clusters/{cluster}/fail. The caller must set the cluster.
coordination::fail_cluster read_cluster_failure(json_check& check, json_ref const& body);

schema::named task_error_schema();
/// Reads the body of POST /api/v1/clusters/{cluster}/tasks/{job}/{index}/error. The caller must set
/// the task.
coordination::report_error read_task_error(json_check& check, json_ref const& body);

template <>
inline constexpr std::string_view schema_name<coordination::generation_view> = "Generation";
template <>
inline constexpr std::string_view schema_name<coordination::key_view> = "KeyView";

void members(member_list const& m, coordination::generation_view const& g);
void agent_counts(member_list const& m, coordination::generation_view const& g);
void members(member_list const& m, coordination::cluster_spec const& spec);
void job_sizes(member_list const& m, std::string_view name, coordination::cluster_spec const& of);
void members(member_list const& m, coordination::agent_view const& a, core::time_point now);
void members(member_list const& m, coordination::barrier_view const& b, core::time_point now,
             bool with_tasks);
void members(member_list const& m, history::straggler_view const& v);
void members(member_list const& m, coordination::key_view const& k, bool with_value = true);
void members(member_list const& m, server::event const& e);

/// Returns null if `deadline` is `never`.
optional_ms time_left(core::time_point deadline, core::time_point now);

}  // namespace muster::web
