#include "server/history/log/log_events.hpp"

#include <algorithm>

#include "server/core/api/id_text.hpp"
#include "server/history/log/incident_texts.hpp"

namespace muster::history {

coordination::severity severity_of(log_event_kind k) {
  using coordination::severity;
  switch (k) {
    case log_event_kind::worker_start_delayed:
    case log_event_kind::worker_returned:
    case log_event_kind::task_cordoned:
    case log_event_kind::task_uncordoned:
      return severity::info;
    case log_event_kind::job_failed:
    case log_event_kind::session_failed:
    case log_event_kind::program_failed:
      return severity::error;
    default:
      return severity::warning;
  }
}

void log_events::tell(changes const& c, time_point now) {
  for (auto const& i : c.incidents) {
    auto const* failed = std::get_if<incidents::session_failed>(&i);
    if (failed && !failures_.may_log(now)) continue;
    pending_events_.push_back(told(i, config_, now));
    if (auto const more = failed ? failures_.take_suppressed_count() : 0; more > 0)
      pending_events_.back().text += "; " + std::to_string(more) +
                                     (more == 1 ? " earlier failure is" : " earlier failures are") +
                                     " not listed";
  }
}

void log_events::add_drop_event(changes const& c, time_point now) {
  auto const dropped = std::find_if(
      c.values.begin(), c.values.end(),
      [](value_place_changed const& v) { return v.where == value_place::gone && !v.restored; });
  if (dropped == c.values.end()) return;
  drops_told_until_ = now + drops_pause;
  pending_events_.push_back(drop_event(dropped->closure, dropped->why, config_));
}

}  // namespace muster::history
