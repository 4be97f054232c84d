// What stands in the store: listeners' own types as records, and back. Pure. A record that cannot
// be read gives nothing: it is for people, and keeps no server from starting. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/activity.hpp"
#include "server/core/api/views.hpp"
#include "server/core/coordination/api/views.hpp"
#include "server/doctor/step_log.hpp"
#include "server/history/history.hpp"
#include "server/history/machines/machines.hpp"
#include "server/history/metrics/past_point.hpp"
#include "server/hub/event_log.hpp"
#include "server/hub/log_store.hpp"

namespace muster::server {

std::string encoded(std::vector<event> const& all);
std::vector<event> events_from(std::string_view bytes);

using history::past_point;
std::string encoded(past_point const& p);
/// An empty one (`at` is the epoch) is none.
past_point point_from(std::string_view bytes);

struct past_machine {
  std::string cluster, task, host;
  history::machine_sample sample;
};
std::string encoded(std::vector<past_machine> const& all);
std::vector<past_machine> machines_from(std::string_view bytes);

struct past_spans {
  std::string cluster;
  std::vector<history::past_span> spans;
};
/// `page`: with the names of all that is in it. `named`: its functions.
std::string encoded(std::string const& cluster, core::span_page const& page,
                    history::names const& named);
past_spans spans_from(std::string_view bytes);

struct past_lines {
  std::string cluster;
  std::vector<log_store::job_line> lines;
};
std::string encoded(past_lines const& all);
/// Of those jobs that are `wanted`; none: of all.
past_lines lines_from(std::string_view bytes,
                      std::function<bool(core::session_id)> const& wanted = {});

struct past_run {
  std::string cluster;
  core::coordination::generation_view run;
};
std::string encoded(std::vector<past_run> const& all);
std::vector<past_run> runs_from(std::string_view bytes);

/// Of a job or session that has ended, as far as people ask for it later: its view without what
/// was of use while it was there.
std::string encoded(std::vector<core::job_view> const& all);
std::vector<core::job_view> jobs_from(std::string_view bytes);

std::string encoded(doctor::step_segment const& s);
/// What it has is not looked at: doctor::unpack does. An empty one has no spans.
doctor::step_segment steps_from(std::string_view bytes);

}  // namespace muster::server
