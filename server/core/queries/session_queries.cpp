#include "server/core/queries/session_queries.hpp"

#include <algorithm>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"

namespace muster::core {

namespace {

job_view view_of(engine_state const& core, session const& s) {
  auto const& t = core.book.of(s.number);
  auto const& h = core.values.of(s.number);
  job_view v;
  v.id = s.id;
  v.cluster = core.step.config.cluster;
  v.name = s.spec.name;
  v.state = s.shown_state();
  v.open = !s.sealed;
  v.stopping = s.stopping;
  v.on_error = s.spec.on_error;
  v.counts = t.counts;
  v.not_kept = t.scheduled - std::min<std::uint64_t>(t.scheduled, t.counts.total());
  v.requeued = t.requeued;
  v.retried = t.retried;
  v.weight = s.spec.weight;
  v.deadline = s.deadline;
  v.error = s.first_error;
  v.created = s.created;
  v.finished = s.finished;
  v.metadata = s.spec.metadata;
  v.submitted_by = s.spec.submitted_by;
  v.streaming = s.traits().generations;
  v.generation = v.streaming ? s.generation : 0;
  v.resumable = s.traits().resumable;
  v.attached = s.attached;
  v.detached = s.spec.detached;
  v.lease_until = s.lease_until;
  v.held = s.held.size;
  v.values = h.live;
  v.value_bytes = h.bytes + h.spilled_bytes + h.blob_bytes;
  v.client = s.client;
  v.retry_of = s.spec.retry_of;
  v.durable = s.durable;
  v.retryable = s.traits().listed && s.terminal() && t.counts.failed + t.counts.cancelled > 0 &&
                !h.arguments_gone;
  return v;
}

}  // namespace

result<job_view> session_queries::find(session_id id) const {
  if (auto const* s = core_.sessions.find(id)) return view_of(core_, *s);
  return texts_.unknown_session(id);
}

page<job_view, session_id> session_queries::list(session_id before, std::size_t limit) const {
  page<job_view, session_id> out;
  auto const& all = core_.sessions.all();
  auto it = before == session_id{} ? all.end() : all.lower_bound(before);
  while (it != all.begin() && out.items.size() < limit)
    out.items.push_back(view_of(core_, *(--it)->second));
  if (it != all.begin() && !out.items.empty()) out.next = out.items.back().id;
  return out;
}

bool session_queries::has_key(session_spec const& like) const {
  return !like.idempotency_key.empty() && core_.sessions.find_key(like) != nullptr;
}

std::string_view session_queries::submitter(session_id id) const {
  auto const* s = core_.sessions.find(id);
  return s ? std::string_view(s->spec.submitted_by) : std::string_view();
}

void session_queries::add_usage(std::string_view submitter, submitter_usage& into) const {
  auto const programs = core_.programs.unfinished_of(submitter);
  into.sessions += programs.programs;
  into.ranks += programs.ranks;
  for (auto const& [id, v] : core_.builds.all()) {
    auto const* owner = core_.sessions.find(v.owner);
    auto const& by = owner ? owner->spec.submitted_by : v.submitted_by;
    into.per_worker += !v.released && by == submitter;
  }
  for (auto const& [id, s] : core_.sessions.all()) {
    if (s->spec.submitted_by != submitter) continue;
    auto const& h = core_.values.of(s->number);
    into.value_bytes += h.bytes + h.spilled_bytes;
    if (s->terminal()) continue;
    ++into.sessions;
    into.queued += core_.book.of(s->number).waiting();
  }
}

time_point session_queries::waits_since() const {
  auto first = never;
  for (auto const& [id, s] : core_.sessions.all())
    if (core_.book.of(s->number).waiting() > 0) first = std::min(first, s->created);
  if (first == never) return never;
  for (auto const& [key, t] : core_.registry.tasks.rows())
    if (!t->present()) first = std::max(first, t->since);
  return first;
}

}  // namespace muster::core
