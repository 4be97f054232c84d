#include "cli/postmortem/program_report.hpp"

#include <map>
#include <set>

#include "base/process/child.hpp"
#include "base/text.hpp"
#include "cli/postmortem/lanes.hpp"
#include "cli/postmortem/page.hpp"
#include "cli/programs/attempt_text.hpp"
#include "cli/programs/program_lookup.hpp"
#include "cli/programs/stacks.hpp"
#include "cli/table.hpp"

namespace muster::cli::postmortem {
namespace {

constexpr std::int64_t late_ms_min = 1'000;  // a barrier counts as late above this value

using ranks_of_logs = std::set<std::int64_t>;

json::array labelled(json::array list, char const* number = "rank", char const* task = "task") {
  for (auto& r : list) {
    if (!r.is_object()) continue;
    auto label = rank_label_of(r, number, task);
    r.as_object()["label"] = std::move(label);
  }
  return list;
}

// Returns "rank 2 on host-b ended with exit status 1, and said last “…”".
std::string went_wrong(json::value const& cause) {
  auto const signal = static_cast<int>(number_of(cause, "signal"));
  auto const kind = text_of(cause, "kind");
  auto text = html(rank_label_of(cause)) + " on " + shown(cause, "host");
  if (kind == "EXIT_STATUS")
    text += " ended with exit status " + shown(cause, "exit_status");
  else if (kind == "OUT_OF_MEMORY")
    text += " was killed by the kernel because memory ran out";
  else if (kind == "SIGNAL" && signal > 0)
    text += " was killed by " + signal_name(signal);
  else
    text = shown(cause, "text");
  auto const& printed = list_of(cause, "stderr");
  for (auto it = printed.rbegin(); it != printed.rend(); ++it)
    if (auto const* s = it->if_string(); s && s->find_first_not_of(" \t\r\n") != s->npos)
      return text + ", with the last line <b>“" + html(std::string(*s)) + "”</b>";
  return text;
}

std::string verdict(json::value const& p, json::value const& last) {
  auto text = how_it_is(p);
  bool const well = text_of(p, "state") == "SUCCEEDED";
  auto const& cause = field_of(p, "cause");
  if (auto const hang = shown(field_of(p, "hang"), "text"); !hang.empty())
    return text + ": " + hang + ".";
  if (number_of(p, "attempt") == 0) text += " before any rank started";
  if (well) text += " in attempt " + shown(p, "attempt");
  if (!cause.is_null()) text += (well ? "; an earlier attempt failed: " : ": ") + went_wrong(cause);
  if (number_of(last, "ended_ms") > 0 && !well)
    text += ", after " + lasted(real_of(last, "ended_ms") - real_of(last, "begun_ms")) +
            " of attempt " + shown(last, "attempt");
  return text + ".";
}

std::string hang_facts(json::value const& hang) {
  return headed("Hang",
                facts(hang,
                      "Verdict=text|Evidence=evidence|Rank=rank|Host=host|Code line=line|Kernel "
                      "state=process|Barrier=barrier|Waiting ranks=waits|Waiting "
                      "at=waiting_line|No progress since=since_ms"));
}

std::string stacks_of(std::string const& title, json::array const& groups) {
  return headed(title, groups.empty() ? "" : lines(groups_text(groups), stacks_bytes_max));
}

// Omits the last output of ranks in `logged`, whose logs are shown separately.
std::string ends(json::value const& a, ranks_of_logs const& logged) {
  auto rows = since(list_of(a, "ended"), "ended_ms", number_of(a, "begun_ms"));
  std::string said;
  for (auto& r : rows) {
    r.as_object()["end"] = how_it_ended(r);
    std::string printed;
    for (auto const* stream : {"stderr", "stdout"})
      printed += headed(stream, lines(texts_of(r, stream, "\n"), log_bytes_max));
    if (!printed.empty() && !logged.contains(number_of(r, "rank")))
      said += folded("Last lines of " + html(rank_label_of(r)), printed);
  }
  return table("Exited ranks, in order of exit", labelled(std::move(rows)),
               "Rank=label|Host=host|After=after_ms|End=end|Was stopped=stopped|Lease ran "
               "out=lease_ran_out|Out of memory=out_of_memory") +
         said;
}

std::string attempt(json::value const& a, ranks_of_logs const& logged) {
  auto const begun = number_of(a, "begun_ms");
  auto const& cause = field_of(a, "cause");
  std::string missing;
  for (auto const* what : {"events", "stacks", "ranks"})
    if (auto const n = count_of(a, std::string(what) + "_left_out"); n > 0)
      missing += "<p>" + with_thousands(n) + " more " + what + " exceeded the server's limit.</p>";
  return facts(
             a,
             "Began=begun_ms|All ranks running=running_ms|Ended=ended_ms|Ranks=ranks|Hosts=hosts") +
         fact("Cause", cause.is_null() ? "" : went_wrong(cause)) +
         facts(field_of(cause, "coordination"), "Coordination error=message|Code=code") +
         lines(texts_of(cause, "stderr", "\n"), log_bytes_max) +
         hang_facts(field_of(cause, "hang")) +
         table("What happened",
               labelled(since(list_of(a, "events"), "at_ms", begun), "rank", "about"),
               "After=after_ms|What=kind|About=label|Text=text") +
         stacks_of("Stacks of killed ranks", list_of(a, "stacks")) +
         table("Barriers, newest first",
               labelled(since(list_of(a, "barriers"), "ended_ms", begun), "last_rank", "last"),
               "After=after_ms|Late=late_ms|Last rank=label|Host=host|Ranks=participants|"
               "Barrier=id") +
         table("Late arrivals at barriers", labelled(list_of(a, "latecomers")),
               "Rank=label|Host=host|Times last=last|Barriers=barriers|Mean "
               "lateness=late_mean_ms|Maximum lateness=late_max_ms") +
         ends(a, logged) + missing;
}

std::string attempts(json::array const& all, ranks_of_logs const& logged) {
  std::string out;
  for (std::size_t i = all.size(); i-- > 0;) {
    if (out.size() > attempts_bytes_max)
      return out + "<p>" + counted(i + 1, "earlier attempt") + " omitted.</p>";
    bool const last = i + 1 == all.size();
    auto const ended = real_of(all[i], "ended_ms");
    out += folded("<b>Attempt " + shown(all[i], "attempt") + "</b>, " +
                      (ended > 0 ? shown(all[i], "end") + " after " +
                                       lasted(ended - real_of(all[i], "begun_ms"))
                                 : "is running"),
                  attempt(all[i], last ? logged : ranks_of_logs()), last);
  }
  return out;
}

// The bar ends when the rank ended or, if this time is unknown, with the attempt.
lane::bar bar_of(json::value const& a, std::int64_t rank, json::value const& r, std::int64_t now) {
  auto const ended = number_of(a, "ended_ms"), own = number_of(r, "ended_ms");
  auto const& cause = field_of(a, "cause");
  bool const first = !field_of(cause, "rank").is_null() && number_of(cause, "rank") == rank;
  bool const well = own > 0 && number_of(r, "exit_status") == 0 && number_of(r, "signal") == 0;
  return {number_of(a, "begun_ms"),
          own > 0     ? own
          : ended > 0 ? ended
                      : now,
          first         ? shade::failed
          : well        ? shade::ok
          : own + ended ? shade::stopped
                        : shade::running};
}

std::string timeline(json::value const& f, std::int64_t from, std::int64_t to) {
  std::map<std::int64_t, lane> of;
  chart c{from, to, 1};
  auto const& all = list_of(f, "attempts");
  for (auto const& a : all) {
    std::map<std::int64_t, json::value> known;
    for (auto const& r : list_of(a, "ended")) known[number_of(r, "rank")] = r;
    if (&a == &all.back())
      for (auto const& r : list_of(f, "ranks")) known[number_of(r, "rank")] = r;
    for (std::int64_t i = 0; i < number_of(a, "ranks"); ++i) {
      auto const& r = known[i];
      auto const b = bar_of(a, i, r, to);
      of[i].bars.push_back(b);
      of[i].first = of[i].first || b.of == shade::failed;
      if (r.is_object())
        of[i].label = html(rank_label_of(r)) + " <small>on " + shown(r, "host") + "</small>";
    }
    if (auto const at = number_of(a, "begun_ms"); at > from)
      c.across.push_back({at, at, shade::gap});
    for (auto const& b : list_of(a, "barriers"))
      if (auto const at = number_of(b, "ended_ms"); number_of(b, "late_ms") >= late_ms_min)
        c.across.push_back({at, at, shade::late});
  }
  for (auto& [rank, l] : of) c.lanes.push_back(std::move(l));
  return c.text(
      "o=succeeded|f=failed first|x=was stopped|r=running|l=a task arrived late at a barrier; gaps "
      "are restarts");
}

std::string logs(json::array const& all) {
  std::string out;
  for (auto const& l : all) {
    auto const& log = field_of(l, "log");
    auto const why = shown(l, "why");
    auto text = text_of(log, "data");
    bool const whole = number_of(log, "offset") == 0;
    if (auto const line = text.find('\n'); !whole && line != text.npos) text.erase(0, line + 1);
    out += folded(
        html(rank_label_of(l)) +
            (whole ? "" : " <small>last part of " + in_bytes(real_of(log, "size")) + "</small>"),
        !why.empty()   ? "<p>Could not be loaded: " + why + "</p>"
        : text.empty() ? "<p>No output.</p>"
                       : lines(text, log_of_cause_bytes_max),
        is_true(l, "of_cause"));
  }
  return out;
}

// Shows only the names of environment variables, whatever the server returns.
std::string settings(json::value const& p) {
  return fact("Command", html(texts_of(p, "command", " "), 16'000)) +
         fact("Variables, names only", html(texts_of(p, "env"))) +
         facts(p,
               "Tasks=tasks|Maximum per "
               "worker=per_worker|Directory=working_dir|Upload=upload|Preload=preload|Maximum "
               "restarts=max_restarts|Grace=grace_ms|Grace at a "
               "restart=restart_grace_ms|Deadline=deadline_ms|Notice=notice_ms|On "
               "hang=on_hang|Hang timeout=hang_after_ms|Pattern of "
               "steps=step_pattern|Spares=spares|Priority=priority|Weight=weight|Ends "
               "with=ends_with|Metadata=metadata");
}

}  // namespace

json::array failed_first(json::array const& ranks) {
  json::array out;
  for (bool const bad : {true, false})
    for (auto const& r : ranks) {
      if (!r.is_object() || (text_of(r, "state") == "FAILED") != bad) continue;
      out.push_back(r);
      out.back().as_object()["end"] = how_it_ended(r);
    }
  return out;
}

std::string program_report(json::value const& f) {
  auto const& p = field_of(f, "program");
  auto const& all = list_of(f, "attempts");
  auto const last = all.empty() ? json::value() : all.back();
  auto const& hang = field_of(p, "hang");
  auto const& steps = field_of(p, "steps");
  auto const from =
      number_of(all.empty() ? p : all.front(), all.empty() ? "created_ms" : "begun_ms");
  auto const to =
      has_ended(p) ? number_of(p, "finished_ms") : number_of(field_of(f, "about"), "taken_ms");
  ranks_of_logs logged;
  for (auto const& l : list_of(f, "logs"))
    if (text_of(l, "why").empty()) logged.insert(number_of(l, "rank"));
  bool const bad = text_of(p, "state") == "FAILED" || !hang.is_null();
  page out{"program", text_of(p, "name"),
           bad                                  ? "bad"
           : text_of(p, "state") == "SUCCEEDED" ? "good"
                                                : "",
           verdict(p, last)};
  out.sections = {
      {"facts", "Facts",
       facts(p,
             "Program=id|State=state|Attempts=attempt|Ranks=ranks|Submitted=created_ms|Ended="
             "finished_ms") +
           fact("Duration", lasted(static_cast<double>(to) - real_of(p, "created_ms"))) +
           facts(p,
                 "Cluster=cluster|Its own cluster=coordination_cluster|Submitted by=submitted_by|"
                 "Waits for=waits_for")},
      {"timeline", "Timeline", timeline(f, from, to)},
      {"now", "Where ranks are",
       hang_facts(hang) + stacks_of("Stacks", list_of(field_of(f, "stacks"), "groups"))},
      {"attempts", "Attempts, newest first", attempts(all, logged)},
      {"ranks", "Ranks of the last attempt",
       table("", labelled(failed_first(list_of(f, "ranks"))),
             "Rank=label|State=state|Worker=worker|Host=host|Pid=pid|Step=step|Step "
             "time=step_ms|End=end")},
      {"steps", "Steps",
       facts(steps,
             "Lowest step=least|Highest step=most|Median step time=median_ms|Stops "
             "after step=stop_after") +
           table("Slow ranks, worst first", list_of(steps, "slow"),
                 "Rank=rank|Host=host|Worker=worker|In every step=chronic|Behind, %=percent|At "
                 "step=step|Took=took_ms|Usual=usual_ms|Attempts=attempts")},
      {"logs", "Last output of the ranks of the last attempt", logs(list_of(f, "logs"))}};
  return out.text(f, from, to, settings(p));
}

}  // namespace muster::cli::postmortem
