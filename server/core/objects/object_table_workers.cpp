#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "server/core/objects/object_table.hpp"

namespace muster::core::objects {

namespace {

constexpr std::size_t named_max = 3;  // maximum number of lost objects that an event names
constexpr std::size_t last_error_bytes = 1'000;

}  // namespace

void object_table::attached(time_point now, task_name const& t, core::incarnation i,
                            stream_id stream, bool takes) {
  if (auto& old = book_.of(t); old.incarnation != i && old.incarnation != core::incarnation{})
    lose(now, t, old, object_end::replaced, "another worker process took its place");
  auto& at = book_.of(t);
  at.incarnation = i;
  book_.connect(at, t, stream);
  at.takes = takes;
  at.lost_at = never;
  calls_.caller_reconnected(caller_of(i));
  auto const has = at.has;
  if (!takes) {
    for (auto const id : has)
      built(now, stream, id,
            failure{failure_kind::stale_handle, "",
                    "the worker of its task does not support objects", "", text(t), 0},
            object_end::unable);
    return;
  }
  begin_order begin{stream, {}};
  for (auto const id : has) {
    auto& o = *book_.find(id);
    if (o.state != object_state::pending) begin.kept.push_back(id);
    if (o.state != object_state::ready) {
      o.become(now, object_state::starting);
      out_.builds.push_back({stream, id});
    }
    for (auto const s : o.users) out_.uses.push_back({s, t.first, t.second});
    trim(o);
    for (auto const& n : o.queue)
      if (auto const* c = calls_.find(n); c && !c->answered) out_.calls.push_back({stream, id, n});
  }
  out_.begins.push_back(std::move(begin));
}

void object_table::task_disconnected(time_point now, stream_id stream, bool final,
                                     std::string const& why) {
  auto const t = book_.task_of(stream);
  if (!t) return;
  auto& at = book_.of(*t);
  book_.connect(at, *t, {});
  if (final || limits_.grace == duration{})
    return lose(now, *t, at, final ? object_end::task_left : object_end::task_away, why);
  at.lost_at = now + limits_.grace;
  due_ = std::min(due_, at.lost_at);
}

// Pending objects are kept, because the task's next worker can build them.
void object_table::lose(time_point now, task_name const& t, task& at, object_end how,
                        std::string const& why) {
  passed(calls_.retire(caller_of(std::exchange(at.incarnation, {}))));
  at.lost_at = never;
  std::set<session_id> told;
  objects_lost all{t.first, t.second, 0, {}, why};
  auto const has = at.has;
  for (auto const id : has) {
    auto& o = *book_.find(id);
    if (o.state == object_state::pending) continue;
    auto const what = o.spec.name.empty() ? "an object (" + o.spec.class_name + ")"
                                          : "object '" + o.spec.name + "'";
    failure const lost{failure_kind::dependency_lost,
                       "",
                       "UNAVAILABLE: " + what + " was lost together with " + text(t) + ": " + why,
                       "",
                       text(t),
                       0,
                       {text(t)}};
    fail_all(o, lost);
    for (auto const s : o.users)
      if (told.insert(s).second) out_.losses.push_back({s, t.first, t.second, why});
    ++all.count;
    // The event is visible to all readers, but a token's object names are visible only to that
    // token.
    if (all.first.size() < named_max && o.submitter.empty())
      all.first.push_back(o.spec.name.empty() ? o.spec.class_name : o.spec.name);
    book_.lose(now, id, lost, how);
  }
  if (all.count > 0) out_.lost.push_back(std::move(all));
  book_.tidy(t);
}

void object_table::built(time_point now, stream_id stream, object_id id, std::optional<failure> why,
                         object_end how) {
  auto* const o = book_.find(id);
  if (!o || o->state == object_state::lost || o->state == object_state::failed) return;
  task_name const t{o->spec.job, o->spec.index};
  if (book_.of(t).stream != stream || stream == stream_id{}) return;
  if (!why) {
    o->become(now, object_state::ready);
    book_.forget_args(*o);
    return;
  }
  why->worker = text(t);
  fail_all(*o, *why);
  book_.lose(now, id, std::move(*why), how);
}

void object_table::answered(stream_id stream, object_id id, call_answer a) {
  auto* const o = book_.find(id);
  if (!o || book_.of({o->spec.job, o->spec.index}).stream != stream) return;
  auto const name = a.name;
  auto const* c = calls_.find(name);
  if (c && !c->answered && c->object == id) {
    ++o->answered;
    ++o->passed;
    if (!a.ok) {
      a.why.worker = text(task_name{o->spec.job, o->spec.index});
      o->last_error = shortened(failure_text(a.why), last_error_bytes);
    }
    queue_answer(calls_.answer(name, std::move(a)));
  }
  trim(*o);
}

void object_table::trim(object& o) {
  while (!o.queue.empty()) {
    auto const* c = calls_.find(o.queue.front());
    if (c && !c->answered) break;
    o.queue.pop_front();
  }
  // With concurrency above 1, calls behind a slow call can finish first.
  if (o.passed * 2 <= o.queue.size()) return;
  std::erase_if(o.queue, [this](call_name const& n) {
    auto const* c = calls_.find(n);
    return !c || c->answered;
  });
  o.passed = 0;
}

void object_table::passed(std::vector<object_id> const& forgotten) {
  for (auto const id : forgotten) {
    auto* const o = book_.find(id);
    if (!o) continue;
    ++o->passed;
    trim(*o);
  }
}

// Scans all tasks only when a task is due, because every step calls tick() and there are many
// tasks.
void object_table::tick(time_point now) {
  if (now < due_) return;
  std::vector<task_name> over;
  for (auto const& [t, at] : book_.tasks())
    if (at.lost_at <= now) over.push_back(t);
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(limits_.grace);
  for (auto const& t : over)
    lose(now, t, book_.of(t), object_end::task_away,
         "it was disconnected for longer than " + std::to_string(ms.count()) + " ms");
  find_due();
}

void object_table::find_due() {
  due_ = never;
  for (auto const& [t, at] : book_.tasks()) due_ = std::min(due_, at.lost_at);
}

std::string object_table::invalid() const {
  for (auto const& [id, o] : book_.all()) {
    bool const over = o.state == object_state::lost || o.state == object_state::failed;
    if (over && !o.queue.empty())
      return text(id) + " is LOST or FAILED, but calls are still waiting for it";
    if (over && o.why.message.empty()) return text(id) + " is LOST or FAILED without a reason";
    auto const unanswered = [this](call_name const& n) {
      auto const* c = calls_.find(n);
      return c && !c->answered;
    };
    auto const waits = std::count_if(o.queue.begin(), o.queue.end(), unanswered);
    if (calls_.open(id) != static_cast<std::size_t>(waits))
      return text(id) + ": the number of unanswered calls does not match its queue";
    if (!over && !o.spec.detached && !sessions_.contains(o.owner))
      return text(id) + " still exists after its session has ended";
  }
  for (auto const& [id, d] : datasets_) {
    if (auto bad = d.invalid(); !bad.empty()) return text(id) + ": " + bad;
    if (!sessions_.contains(d.owner()))
      return text(id) + " still exists after its session has ended";
  }
  if (tickets_.size() != sessions_.size())
    return "a session has no ticket, or a ticket has no session";
  return {};
}

}  // namespace muster::core::objects
