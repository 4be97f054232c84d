// Who waits for whom, who keeps values, what a worker holds. Nothing here changes anything.
#include <algorithm>

#include "server/core/api/activity.hpp"
#include "server/core/coordinator_state.hpp"
#include "server/core/record_walk.hpp"

namespace muster::core {

namespace {
constexpr std::size_t holders_a_step = 2'000;
}  // namespace

status coordinator::group(session_id id, closure_groups& into) const {
  auto const& st = *state_;
  auto const* s = st.sessions.find(id);
  if (!s) return st.texts.unknown_session(id);
  auto const place = [&](function_id f) {
    auto const [at, fresh] = into.place_of.try_emplace(
        raw(f),
        static_cast<std::uint32_t>(std::min(into.groups.size(), closure_groups::groups_max)));
    if (fresh && at->second == into.groups.size())
      into.groups.emplace_back(
          at->second < closure_groups::groups_max ? st.book.functions[f].name : std::string(),
          closure_counts{});
    return at->second;
  };
  auto const* list = s->traits().listed ? &st.of(*s).closures : nullptr;
  into.of = list ? list->size() : st.of(*s).unfinished() + s->held.size;
  into.done = walk_records(
      st.closures, list, s->number, into.next,
      [&](slot, closure_record const& r) -> std::optional<std::size_t> {
        ++into.looked_at;
        auto const to = place(r.function);
        auto& n = into.groups[to].second;
        std::uint64_t* const counts[] = {&n.blocked,   &n.queued, &n.running,
                                         &n.succeeded, &n.failed, &n.cancelled};
        ++*counts[static_cast<std::size_t>(r.state())];
        if (!r.details) return 0;
        for (auto const i : r.details->input_ids) {
          slot const input = st.closures.find(i);
          if (input == no_slot || st.closures[input].owner != s->number) continue;
          std::pair const edge{place(st.closures[input].function), to};
          if (into.edges.size() < closure_groups::edges_max || into.edges.contains(edge))
            ++into.edges[edge];
        }
        return r.details->input_ids.size() * look_units;
      });
  return {};
}

status coordinator::graph(session_id id, graph_nodes& into) const {
  auto const& st = *state_;
  auto const* s = st.sessions.find(id);
  if (!s) return st.texts.unknown_session(id);
  auto const* list = s->traits().listed ? &st.of(*s).closures : nullptr;
  into.of = list ? list->size() : st.of(*s).unfinished() + s->held.size;
  if (into.of > graph_nodes::nodes_max) return {};  // see group
  into.done = walk_records(
      st.closures, list, s->number, into.next,
      [&](slot c, closure_record const& r) -> std::optional<std::size_t> {
        auto const [at, fresh] = into.place_of.try_emplace(
            raw(r.function), static_cast<std::uint32_t>(into.functions.size()));
        if (fresh) into.functions.push_back(st.book.functions[r.function].name);
        into.nodes.push_back({st.closures.id_of(c), r.order, at->second, r.state(), {}});
        if (r.details) into.nodes.back().inputs = r.details->input_ids;
        return look_units * (1 + into.nodes.back().inputs.size());
      });
  return {};
}

page<value_holder, session_id> coordinator::value_holders(session_id after) const {
  auto const& st = *state_;
  page<value_holder, session_id> out;
  auto const& all = st.sessions.all();
  std::size_t looked_at = 0;
  auto last = after;
  for (auto it = all.upper_bound(after); it != all.end(); ++it) {
    if (looked_at++ == holders_a_step) {
      out.next = last;
      break;
    }
    last = it->first;
    auto const& s = *it->second;
    auto const& h = st.values.of(s.number);
    if (h.live == 0) continue;
    out.items.push_back({s.id, s.spec.name, s.traits().generations, s.state, h.live, h.bytes,
                         h.spilled_bytes, h.blob_bytes});
  }
  return out;
}

result<worker_hands> coordinator::in_hands_of(std::string_view job, std::int64_t index,
                                              std::size_t limit) const {
  auto const& st = *state_;
  auto const* t = st.registry.tasks.find(job, index);
  if (!t) return task(job, index).error();
  worker_hands out;
  if (!t->worker) return out;
  auto const& slots = st.scheduler.of(t->worker->number);
  auto const take = [&](slot_list const& from, std::vector<worker_hands::held>& to) {
    for (slot c = from.front; c != no_slot && to.size() < limit; c = st.closures[c].next) {
      auto const& r = st.closures[c];
      to.push_back({st.closures.id_of(c), st.sessions.of(r.owner).id, r.order,
                    st.book.functions[r.function].name, r.started});
    }
    out.more += from.size - to.size();
  };
  take(slots.running, out.running);
  take(slots.prefetched, out.prefetched);
  return out;
}

std::vector<running_view> coordinator::running_on(std::string_view job, std::int64_t index,
                                                  session_id of) const {
  auto const& st = *state_;
  std::vector<running_view> out;
  auto const* t = st.registry.tasks.find(job, index);
  if (!t || !t->worker) return out;
  auto const& held = st.scheduler.of(t->worker->number).running;
  for (slot c = held.front; c != no_slot; c = st.closures[c].next) {
    auto const& r = st.closures[c];
    auto const session = st.sessions.of(r.owner).id;
    if (of == session_id{} || session == of)
      out.push_back({0, r.function, r.started, st.closures.id_of(c), session});
  }
  return out;
}

std::string_view coordinator::submitter(session_id id) const {
  auto const* s = state_->sessions.find(id);
  return s ? std::string_view(s->spec.submitted_by) : std::string_view();
}

void coordinator::add_usage(std::string_view submitter, usage& into) const {
  into.sessions += state_->programs.unfinished_of(submitter);
  for (auto const& [id, s] : state_->sessions.all()) {
    if (s->spec.submitted_by != submitter) continue;
    auto const& h = state_->values.of(s->number);
    into.value_bytes += h.bytes + h.spilled_bytes;
    if (s->terminal()) continue;
    ++into.sessions;
    into.queued += state_->book.of(s->number).waiting();
  }
}

bool coordinator::server_keeps_too_much() const {
  auto const& wide = state_->wide;
  return wide.coordinators > 1 && wide.value_bytes.used() > state_->step.config.value_bytes_max;
}

bool coordinator::keeps_too_much() const {
  return state_->values.full();
}

std::vector<value_move> coordinator::forget_spilled() const {
  return state_->values.forget_all();
}

}  // namespace muster::core
