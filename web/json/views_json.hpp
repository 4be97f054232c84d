// REST JSON of the core's views. Pure functions: `write(out, view)` writes a view, and
// schema_of<View>() returns its schema.
#pragma once

#include <optional>
#include <string>

#include "server/core/api/views.hpp"
#include "server/core/api/waiting_views.hpp"
#include "server/hub/log_store.hpp"
#include "web/json/json_out.hpp"
#include "web/json/members.hpp"

namespace muster::web {

struct reported_closure {
  core::closure_view view;
  std::optional<server::closure_progress> progress;
};

template <>
inline constexpr std::string_view schema_name<core::failure> = "Failure";
template <>
inline constexpr std::string_view schema_name<core::closure_counts> = "Counts";
template <>
inline constexpr std::string_view schema_name<server::closure_progress> = "Progress";
template <>
inline constexpr std::string_view schema_name<reported_closure> = "ClosureView";

void members(member_list const& m, core::failure const& f);
void members(member_list const& m, core::closure_counts const& c);
void members(member_list const& m, core::job_view const& j);
void members(member_list const& m, core::closure_view const& c,
             server::closure_progress const* progress = nullptr);
void members(member_list const& m, reported_closure const& c);
void members(member_list const& m, core::task_view const& t, core::time_point now);
void members(member_list const& m, core::function_view const& f);
/// Omits cancelled closures.
void function_members(member_list const& m, core::function_view const& f);
/// Omits cancelled closures.
template <class Function>
void function_counts(member_list const& m, Function const& f) {
  m("waiting", f.waiting,
    "closures that are waiting for an input, a start time or their gang; not included in queued");
  m("queued", f.queued);
  m("running", f.running);
  m("succeeded", f.succeeded);
  m("failed", f.failed);
}
/// Writes the task, labels and resources that a closure needs.
void needs_members(member_list const& m, core::closure_options const& o, bool with_gang);
void members(member_list const& m, core::per_worker_view const& v);
void members(member_list const& m, core::gangs_view const& all);
void members(member_list const& m, core::unmet_demand_view const& all);
void members(member_list const& m, server::log_line const& l);
void members(member_list const& m, server::closure_progress const& p);
/// Writes the value unchanged if it is JSON, otherwise as {"$bytes":"base64"}.
void write_value(json_out& out, core::blob const& b);

std::int64_t ms_since(core::time_point then, core::time_point now);

template <class... View>
std::string to_text(View const&... view) {
  return json_line([&](json_out& out) { write(out, view...); });
}

}  // namespace muster::web
