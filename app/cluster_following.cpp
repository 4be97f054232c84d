#include "app/cluster_following.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "app/process_setup.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using core::coordination::severity;

constexpr auto retry_first = 500ms;
constexpr auto stop_patience = 1s;

cluster_watch::options pace_of(cluster_source const& source) {
  auto const every = std::chrono::duration_cast<std::chrono::milliseconds>(source.every);
  return {every, std::min<std::chrono::milliseconds>(every, 1s),
          std::max<std::chrono::milliseconds>(every, 1s)};
}

start_error failure(cluster_source const& source, std::string const& why) {
  return start_error("--cluster-from " + source.text + ": " + why);
}

std::string in_words(core::duration d) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

void warn_of_gaps(cluster_source const& source, cluster_spec const& found) {
  for (auto const& job : found.jobs())
    if (!found.is_dense(job))
      spdlog::warn(
          "cluster name={} job={} has gaps: {} addresses for indices up to {}; agents "
          "wait for all of them",
          source.declaration.name, job, found.num_tasks(job), found.job(job).rbegin()->first);
}

/// If a stop signal arrives first, sets `signal` to its name and returns nullopt.
std::optional<cluster_spec> first_answer(cluster_source const& source,
                                         std::optional<std::string>& signal) {
  using clock = std::chrono::steady_clock;
  auto const end = clock::now() + source.timeout;
  std::string last;
  for (unsigned failures = 1;; ++failures) {
    try {
      return source.resolver->cluster_spec();
    } catch (cluster_error const& e) {
      if (!e.is_transient()) throw failure(source, e.what());
      if (clock::now() >= end)
        throw failure(source, "no answer within " + in_words(source.timeout) + ": " + e.what());
      if (last != e.what())
        spdlog::warn("waiting for a cluster name={} error=\"{}\"", source.declaration.name,
                     e.what());
      last = e.what();
    }
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now());
    auto const delay = delay_after({{}, retry_first, pace_of(source).retry_max}, failures);
    signal = wait_for_stop_signal(std::clamp<std::chrono::milliseconds>(left, 0ms, delay));
    if (signal) return {};
  }
}

}  // namespace

muster::result<core::coordination::cluster_spec> declared(cluster_source const& source,
                                                          cluster_spec const& found) {
  auto spec = source.declaration;
  auto const& recoverable = source.recoverable_jobs;
  for (auto const& [name, tasks] : found.by_job())
    if (!tasks.empty())
      spec.jobs.push_back(
          {name, static_cast<std::uint32_t>(tasks.rbegin()->first) + 1,
           std::find(recoverable.begin(), recoverable.end(), name) != recoverable.end()});
  if (auto const valid = validate(spec); !valid.ok()) return valid;
  return spec;
}

first_answers ask_sources(std::vector<cluster_source> const& sources) {
  first_answers answers;
  for (auto const& source : sources) {
    auto found = first_answer(source, answers.stopped_by);
    if (!found) return answers;
    auto spec = declared(source, *found);
    if (!spec) throw failure(source, spec.error().message);
    warn_of_gaps(source, *found);
    answers.found.push_back(std::move(*found));
    answers.declared.push_back(std::move(*spec));
  }
  return answers;
}

cluster_following::cluster_following(engine_assembly& engine, coordination_hub& hub)
    : engine_(engine), hub_(hub) {}

void cluster_following::start(std::vector<cluster_spec> const& found) {
  auto const& sources = engine_.config.cluster_sources;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    auto const& source = sources[i];
    auto const post = [this](std::function<void()> work) {
      engine_.context().post(std::move(work));
    };
    cluster_watch::handlers h;
    h.changed = [this, post, &source](cluster_spec const& spec) {
      post([this, &source, spec] { changed(source, spec); });
    };
    h.failed = [this, post, &source](cluster_error const& e) {
      post([this, &source, line = std::string(e.what())] {
        warn(source, line + "; the cluster is left unchanged");
      });
    };
    h.recovered = [this, post, &source] {
      post([this, &source] {
        engine_.add_log_event({severity::info,
                               "cluster_source_recovered",
                               source.declaration.name,
                               {},
                               "the cluster can be resolved again"});
      });
    };
    watches_.push_back(
        std::make_unique<cluster_watch>(source.resolver, pace_of(source), std::move(h), found[i]));
  }
}

void cluster_following::stop() {
  for (auto& w : watches_) w->request_stop();
  auto const end = std::chrono::steady_clock::now() + stop_patience;
  for (auto& w : watches_)
    w->stop(std::max(0ms, std::chrono::duration_cast<std::chrono::milliseconds>(
                              end - std::chrono::steady_clock::now())));
  watches_.clear();
}

void cluster_following::changed(cluster_source const& source, cluster_spec const& found) {
  auto const& name = source.declaration.name;
  auto const cluster = hub_.state().find(name);
  if (!cluster) return warn(source, "the cluster was deleted; changes to its source are ignored");
  auto const spec = declared(source, found);
  auto const done = spec ? hub_.redeclare(*cluster, *spec) : spec.error();
  if (!done.ok()) return warn(source, done.message + "; the cluster is left unchanged");
  warn_of_gaps(source, found);
}

void cluster_following::warn(cluster_source const& source, std::string text) {
  engine_.add_log_event(
      {severity::warning, "cluster_source_failed", source.declaration.name, {}, std::move(text)});
}

}  // namespace muster::server
