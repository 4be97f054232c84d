#include "cli/postmortem/run.hpp"

#include "cli/postmortem/page.hpp"

namespace muster::cli::postmortem {

std::string run_report(json::value const& f) {
  auto const& run = field_of(f, "run");
  auto const& cause = field_of(run, "cause");
  auto const& late = field_of(f, "stragglers");
  auto const state = text_of(run, "state"), cluster = text_of(field_of(f, "cluster"), "name");
  auto const from = number_of(run, "started_ms"), end = number_of(run, "ended_ms");
  auto const to = end > 0 ? end : number_of(field_of(f, "about"), "taken_ms");
  bool const bad = state == "FAILED" || !cause.is_null();
  auto const title = cluster + "/" + text_of(run, "number");
  auto verdict = "Run " + shown(run, "number") + " of <b>" + html(cluster) + "</b> " +
                 (bad       ? "has failed"
                  : end > 0 ? "has ended"
                            : "is still " + html(state)) +
                 (end > 0 ? " at " + utc(end) : "");
  if (!cause.is_null())
    verdict += ": the first failure was " + shown(cause, "task") + " at " +
               shown(cause, "address") + ", <b>“" + shown(cause, "message") + "”</b>";
  page out{"run", title, bad ? "bad" : "", verdict + "."};
  out.sections = {
      {"facts", "Facts",
       facts(run, "State=state|Began=started_ms|Ended=ended_ms") +
           fact("Lasted", lasted(static_cast<double>(to - from))) +
           facts(cause, "First failure=at_ms|Task=task|Address=address") +
           facts(field_of(run, "agents"),
                 "Agents connected=connected|Late=late|In error=error|"
                 "Disconnected=disconnected|Missing=missing") +
           facts(run, "Keys=keys|Key bytes=key_bytes")},
      {"late", "Late tasks at barriers",
       table("", list_of(late, "tasks"),
             "Task=task|Host=host|Times last=last|Barriers=barriers|Mean "
             "lateness=late_mean_ms|Maximum lateness=late_max_ms") +
           table("Barriers", list_of(late, "barriers"),
                 "Ended=ended_ms|Late=late_ms|Last task=last|Host=host|Tasks=participants|"
                 "Barrier=id")}};
  return out.text(f, from, to,
                  facts(field_of(f, "cluster"),
                        "Tasks=jobs|Heartbeat timeout=heartbeat_timeout_ms|Recoverable=recoverable|"
                        "Renew=renew|Registration timeout=register_timeout_ms|Address=address"));
}

}  // namespace muster::cli::postmortem
