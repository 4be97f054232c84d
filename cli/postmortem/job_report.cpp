#include "cli/postmortem/job_report.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "cli/postmortem/page.hpp"
#include "cli/table.hpp"

namespace muster::cli::postmortem {
namespace {

std::string called(json::value const& closure) {
  auto const name = shown(closure, "display_name");
  return name.empty() ? shown(closure, "function") : name;
}

std::string in_words(json::value const& error) {
  auto const type = shown(error, "type");
  return shown(error, "kind") + " " + (type.empty() ? "" : type + ": ") + shown(error, "message");
}

std::string first_failure(json::value const& job, json::array const& failed) {
  auto const& error = field_of(job, "error");
  for (auto const& c : failed)
    if (field_of(c, "error") == error) {
      auto const& all = list_of(c, "attempts");
      return "closure " + shown(c, "index") + ", <b>" + called(c) + "</b>, failed on " +
             shown(error, "worker") +
             (all.empty() ? "" : " (host " + shown(all.back(), "host") + ")") + " in attempt " +
             shown(error, "attempt") + " with <b>“" + in_words(error) + "”</b>";
    }
  auto const worker = shown(error, "worker");
  return "<b>“" + in_words(error) + "”</b>" + (worker.empty() ? "" : " on " + worker);
}

std::string verdict(json::value const& job, json::array const& failed) {
  auto const& counts = field_of(job, "counts");
  auto const n = [&counts](char const* what) { return with_thousands(count_of(counts, what)); };
  auto text = how_it_is(job);
  if (!field_of(job, "error").is_null()) text += ": " + first_failure(job, failed);
  return text + "; of " + counted(count_of(counts, "total"), "closure") + " " + n("succeeded") +
         " succeeded, " + n("failed") + " failed and " + n("cancelled") + " were cancelled.";
}

std::string failures(json::value const& f) {
  std::string out;
  auto const all = different_failures(list_of(f, "failed"));
  for (std::size_t i = 0; i < std::min(all.size(), failures_max); ++i) {
    auto const& c = field_of(all[i], "closure");
    auto const& error = field_of(c, "error");
    std::string printed;
    for (auto const& l : list_of(field_of(f, "logs"), text_of(c, "id")))
      printed += text_of(l, "level") + " | " + text_of(l, "text") + "\n";
    auto const n = count_of(all[i], "count");
    out += folded(
        "<b>" + called(c) + "</b> <span class=bad>" + in_words(error) + "</span> <small>" +
            (n == 1 ? "" : counted(n, "closure") + " like this, the first is ") + "closure " +
            shown(c, "index") + "</small>",
        facts(c, "Closure=id|Function=function|Retries=retries") +
            lines(text_of(error, "traceback"), traceback_bytes_max) +
            table("Its attempts", list_of(c, "attempts"),
                  "Attempt=attempt|Worker=worker|Host=host|Began=started_ms|Ended=ended_ms|End=end|"
                  "Outcome=outcome") +
            headed("Last output", lines(printed, printed_bytes_max)),
        i < 3);
  }
  if (all.size() > failures_max)
    out += "<p>" + counted(all.size() - failures_max, "more kind") + " of failure.</p>";
  return out;
}

}  // namespace

json::array different_failures(json::array const& failed) {
  std::map<std::string, json::object> of;
  for (auto const& c : failed) {
    auto what = called(c) + '\n' + in_words(field_of(c, "error"));
    std::replace_if(
        what.begin(), what.end(), [](char d) { return d >= '0' && d <= '9'; }, '0');
    what.erase(
        std::unique(what.begin(), what.end(), [](char l, char r) { return l == '0' && r == '0'; }),
        what.end());
    auto& one = of[what];
    if (one.empty()) one = {{"closure", c}, {"count", 0}};
    one["count"] = one["count"].as_int64() + 1;
  }
  json::array out;
  for (auto& [what, one] : of) out.push_back(std::move(one));
  // Failed inputs are consequences, not causes.
  auto const weight = [](json::value const& one) {
    bool const input = text_of(field_of(field_of(one, "closure"), "error"), "kind") == "INPUT";
    return std::pair(!input, count_of(one, "count"));
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](auto const& l, auto const& r) { return weight(l) > weight(r); });
  return out;
}

std::string job_report(json::value const& f, spans const& done) {
  auto const& job = field_of(f, "job");
  auto const state = text_of(job, "state");
  auto const from = number_of(job, "created_ms"), end = number_of(job, "finished_ms");
  auto const to = end > 0 ? end : number_of(field_of(f, "about"), "taken_ms");
  auto const name = text_of(job, "name");
  page out{is_true(job, "streaming") ? "session" : "job", name.empty() ? text_of(job, "id") : name,
           state == "FAILED"      ? "bad"
           : state == "SUCCEEDED" ? "good"
                                  : "",
           verdict(job, list_of(f, "failed"))};
  constexpr char sums[] =
      "=name|Runs=count|Failed=failed|Total time=total_ms|Median=median_ms|95 %=p95_ms|Longest="
      "longest_ms";
  out.sections = {
      {"facts", "Facts",
       facts(job, "Job=id|State=state|Submitted=created_ms|Ended=finished_ms") +
           fact("Lasted", lasted(static_cast<double>(to - from))) +
           facts(field_of(job, "counts"),
                 "Closures=total|Succeeded=succeeded|Failed=failed|Cancelled=cancelled|Running="
                 "running|Queued=queued|Blocked=blocked") +
           facts(job,
                 "Requeued=put_back|Retried=retried|Generation=generation|Cluster=cluster|"
                 "Client=client|Submitted by=submitted_by|Retry of=retry_of")},
      {"timeline", "Timeline", done.timeline(from, to)},
      {"failures", "Failures", failures(f)},
      {"functions", "By function", table("", done.sums(true), sums)},
      {"workers", "By worker", table("", done.sums(false), sums)}};
  return out.text(f, from, to,
                  facts(job,
                        "On error=on_error|Weight=weight|Deadline=deadline_ms|Durable="
                        "durable|Metadata=metadata"));
}

}  // namespace muster::cli::postmortem
