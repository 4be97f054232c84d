// Encodes and decodes the listeners' types as records of the store. Pure and thread-safe functions.
// Decoding never fails, because an unreadable history must not prevent a server start. Unreadable
// entries are skipped, and their number is added to `unreadable` unless it is null.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/activity.hpp"
#include "server/core/api/views.hpp"
#include "server/core/coordination/api/coordination_views.hpp"
#include "server/doctor/step_log.hpp"
#include "server/history/history.hpp"
#include "server/history/machines/machines.hpp"
#include "server/history/metrics/chart_point.hpp"
#include "server/hub/event_log.hpp"
#include "server/hub/log_store.hpp"

namespace muster::server {

std::string encoded(std::vector<event> const& all);
std::vector<event> events_from(std::string_view bytes, std::size_t* unreadable = nullptr);

using history::chart_point;
std::string encoded(chart_point const& p);
/// Returns an empty point, whose `at` is the epoch, if the record is unreadable.
chart_point point_from(std::string_view bytes, std::size_t* unreadable = nullptr);

struct recorded_machine {
  std::string cluster, task, host;
  history::machine_sample sample;
};
std::string encoded(std::vector<recorded_machine> const& all);
std::vector<recorded_machine> machines_from(std::string_view bytes,
                                            std::size_t* unreadable = nullptr);

struct recorded_spans {
  std::string cluster;
  std::vector<history::recorded_span> spans;
};
/// `page` must contain the names of its lanes. `named` contains the names of its functions.
std::string encoded(std::string const& cluster, core::span_page const& page,
                    history::names const& named);
recorded_spans spans_from(std::string_view bytes, std::size_t* unreadable = nullptr);

struct recorded_lines {
  std::string cluster;
  std::vector<log_store::job_line> lines;
};
std::string encoded(recorded_lines const& all);
/// Returns the lines of jobs for which `wanted` returns true. If `wanted` is empty, returns all
/// lines.
recorded_lines lines_from(std::string_view bytes, std::size_t* unreadable = nullptr,
                          std::function<bool(core::session_id)> const& wanted = {});

struct recorded_run {
  std::string cluster;
  core::coordination::generation_view run;
};
std::string encoded(std::vector<recorded_run> const& all);
std::vector<recorded_run> runs_from(std::string_view bytes, std::size_t* unreadable = nullptr);

/// Encodes finished jobs and sessions, without fields that matter only while they are running.
std::string encoded(std::vector<core::job_view> const& all);
std::vector<core::job_view> jobs_from(std::string_view bytes, std::size_t* unreadable = nullptr);

std::string encoded(doctor::step_segment const& s);
/// Does not check the packed steps, because doctor::unpack checks them. If the record is
/// unreadable, returns a segment without spans.
doctor::step_segment steps_from(std::string_view bytes, std::size_t* unreadable = nullptr);

}  // namespace muster::server
