// Of runs, jobs and sessions that have ended.
#include <algorithm>

#include "muster/journal/v1/history.pb.h"
#include "server/history/store/record_parsing.hpp"
#include "server/history/store/record_times.hpp"
#include "server/history/store/records.hpp"

namespace muster::server {
namespace {

namespace wire = muster::journal::v1;
using core::coordination::generation_state;

// What a client says of its job may be long.
constexpr std::size_t metadata_bytes_max = 4'096;

template <class State>
State state_from(std::uint32_t n, State last) {
  return static_cast<State>(std::min(n, static_cast<std::uint32_t>(last)));
}

}  // namespace

std::string encoded(std::vector<past_run> const& all) {
  wire::PastRuns w;
  for (auto const& [cluster, run] : all) {
    auto& to = *w.add_run();
    to.set_cluster(cluster);
    to.set_number(run.number);
    to.set_incarnation(raw(run.incarnation));
    to.set_state(static_cast<std::uint32_t>(run.state));
    to.set_started(us_of(run.started));
    to.set_ended(us_of(run.ended));
    if (run.cause) {
      to.set_caused(true);
      to.set_cause_task(run.cause->task);
      to.set_cause_peer(run.cause->peer);
      to.set_cause(run.cause->message);
      to.set_cause_at(us_of(run.cause->at));
    }
    for (auto const n : run.by_health) to.add_by_health(n);
    to.set_barriers(run.barriers_remembered);
    to.set_keys(run.keys);
    to.set_key_bytes(run.key_bytes);
  }
  return w.SerializeAsString();
}

std::vector<past_run> runs_from(std::string_view bytes, std::size_t* unreadable) {
  std::vector<past_run> all;
  auto const w = rows_of<wire::PastRuns>(bytes, unreadable);
  for (auto const& r : w.run()) {
    past_run one{r.cluster(), {}};
    auto& to = one.run;
    to.number = r.number();
    to.incarnation = core::incarnation{r.incarnation()};
    to.state = state_from(r.state(), generation_state::finished);
    to.started = from_us(r.started());
    to.ended = from_us(r.ended());
    if (r.caused()) to.cause = {r.cause_task(), r.cause_peer(), r.cause(), from_us(r.cause_at())};
    auto const n = std::min<int>(r.by_health_size(), static_cast<int>(to.by_health.size()));
    for (int i = 0; i < n; ++i) to.by_health[static_cast<std::size_t>(i)] = r.by_health(i);
    to.barriers_remembered = r.barriers();
    to.keys = r.keys();
    to.key_bytes = r.key_bytes();
    all.push_back(std::move(one));
  }
  return all;
}

std::string encoded(std::vector<core::job_view> const& all) {
  wire::PastJobs w;
  for (auto const& j : all) {
    auto& to = *w.add_job();
    to.set_id(raw(j.id));
    to.set_cluster(j.cluster);
    to.set_name(j.name);
    to.set_state(static_cast<std::uint32_t>(j.state));
    to.set_created(us_of(j.created));
    to.set_finished(us_of(j.finished));
    to.set_streaming(j.streaming);
    to.set_submitted_by(j.submitted_by);
    to.set_client(j.client);
    if (j.metadata.size() <= metadata_bytes_max) to.set_metadata(j.metadata);
    to.set_succeeded(j.counts.succeeded);
    to.set_failed(j.counts.failed);
    to.set_cancelled(j.counts.cancelled);
    to.set_retried(j.retried);
    to.set_requeued(j.requeued);
    if (j.error) to.set_error(j.error->message);
  }
  return w.SerializeAsString();
}

std::vector<core::job_view> jobs_from(std::string_view bytes, std::size_t* unreadable) {
  std::vector<core::job_view> all;
  auto const w = rows_of<wire::PastJobs>(bytes, unreadable);
  for (auto const& j : w.job()) {
    core::job_view to;
    to.id = core::session_id{j.id()};
    to.cluster = j.cluster();
    to.name = j.name();
    to.state = state_from(j.state(), core::job_state::cancelled);
    to.created = from_us(j.created());
    to.finished = from_us(j.finished());
    to.streaming = j.streaming();
    to.submitted_by = j.submitted_by();
    to.client = j.client();
    to.metadata = j.metadata();
    to.counts.succeeded = j.succeeded();
    to.counts.failed = j.failed();
    to.counts.cancelled = j.cancelled();
    to.retried = j.retried();
    to.requeued = j.requeued();
    if (!j.error().empty()) {
      core::failure why;
      why.message = j.error();
      to.error = std::move(why);
    }
    all.push_back(std::move(to));
  }
  return all;
}

}  // namespace muster::server
