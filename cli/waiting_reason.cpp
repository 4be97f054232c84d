#include "cli/waiting_reason.hpp"

namespace muster::cli {
namespace {

constexpr auto patience = std::chrono::seconds(1);

}  // namespace

explained_closure explain_first(rest& server, std::string const& job, std::string const& state) {
  auto const path = "/api/v1/jobs/" + percent_encoded(job) + "/closures?limit=1&state=" + state;
  auto const answer = server.get(path);
  auto const& found = list_of(answer, "closures");
  if (found.empty()) return {};
  auto id = text_of(found.front(), "id");
  auto const said = server.get("/api/v1/closures/" + percent_encoded(id) + "/explain");
  return {std::move(id), text_of(said, "explanation"), text_of(said, "display_name"),
          text_of(said, "reason"), text_of(said, "cause")};
}

explained_closure waiting_reason::ask() {
  try {
    for (auto const* state : {"QUEUED", "BLOCKED"})
      if (auto found = explain_first(server_, job_, state); !found.id.empty()) return found;
  } catch (command_error const&) {  // the job may have finished; the next query shows this
  }
  return {};
}

std::string waiting_reason::news(job_counts const& c, time_point now) {
  if (c.running > 0 || c.waiting == 0 || c.finished() != finished_) {
    since_ = now;
    finished_ = c.finished();
    last_reported_.clear();
    return {};
  }
  if (now - since_ < patience || now - asked_ < patience) return {};
  asked_ = now;
  auto const found = ask();
  if (found.cause.empty() || found.reason == last_reported_) return {};
  last_reported_ = found.reason;
  return "waiting: " + found.cause;
}

}  // namespace muster::cli
