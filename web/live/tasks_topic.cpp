#include "web/live/tasks_topic.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster::web {

namespace {
int age_mark(core::duration age, core::duration interval) {
  if (age <= interval) return 0;
  if (age <= interval * 5 / 2) return 1;
  return age <= interval * 10 ? 2 : 3;
}
}  // namespace

void tasks_topic::update(std::vector<core::task_view> const& tasks, core::time_point now,
                         core::duration heartbeat_interval, bool whole) {
  advance(now);
  for (auto& [id, r] : rows_) r.present = false;
  for (auto const& t : tasks) {
    auto const [at, added] = rows_.try_emplace(t.row);
    auto& r = at->second;
    if (r.seen != t.last_seen) r.seen_at = seq();
    bool const changed = take(r, t, age_mark(now - t.last_seen, heartbeat_interval));
    r.present = true;
    r.missing = false;
    if (added || changed) r.changed = last_change_ = seq();
  }
  drop_missing(whole);
}

bool tasks_topic::take(row& r, core::task_view const& t, int age) {
  bool const same = r.job == t.job && r.host == t.host && r.error == t.error &&
                    r.index == t.index && r.state == t.state && r.since == t.since &&
                    r.incarnation == t.incarnation && r.slots == t.slots &&
                    r.running == t.running && r.finished == t.finished && r.age == age;
  r.seen = t.last_seen;
  if (same) return false;
  r.job = t.job;
  r.host = t.host;
  r.error = t.error;
  r.index = t.index;
  r.state = t.state;
  r.since = t.since;
  r.incarnation = t.incarnation;
  r.slots = t.slots;
  r.running = t.running;
  r.finished = t.finished;
  r.age = age;
  return true;
}

void tasks_topic::drop_missing(bool whole) {
  for (auto at = rows_.begin(); at != rows_.end();) {
    auto& r = at->second;
    if (r.present || (!whole && !std::exchange(r.missing, true))) {
      ++at;
      continue;
    }
    gone_.add(seq(), at->first);
    last_change_ = seq();
    at = rows_.erase(at);
  }
}

bool tasks_topic::can_serve(std::uint64_t from) const {
  return from <= seq() && gone_.can_serve(from);
}

std::vector<tasks_topic::row_entry const*> tasks_topic::changed_since(std::uint64_t from) const {
  std::vector<row_entry const*> rows;
  for (auto const& entry : rows_)
    if (entry.second.changed > from) rows.push_back(&entry);
  return rows;
}

shared_text tasks_topic::delta_for(std::uint64_t from, std::span<std::uint32_t const> watched) {
  std::vector<row_entry const*> extra;
  for (auto const id : watched)
    if (auto const at = rows_.find(id); at != rows_.end())
      if (at->second.seen_at > from && at->second.changed <= from) extra.push_back(&*at);
  if (extra.empty()) return last_change_ > from ? delta(from) : nullptr;
  auto rows = changed_since(from);
  rows.insert(rows.end(), extra.begin(), extra.end());
  return frame(&from, [&](json_out& out) { write_rows(out, rows, &from); });
}

void tasks_topic::write_rows(json_out& out, std::span<row_entry const* const> rows,
                             std::uint64_t const* from) const {
  auto const column = [&](std::string_view key, auto write_cell) {
    out.key(key).begin_array();
    for (auto const* entry : rows) write_cell(entry->second);
    out.end_array();
  };
  out.key("rows").begin_object();
  out.key("i").begin_array();
  for (auto const* entry : rows) out.number(entry->first);
  out.end_array();
  column("job", [&](row const& r) { out.string(r.job); });
  column("index", [&](row const& r) { out.number(r.index); });
  column("state", [&](row const& r) { out.string(core::name(r.state)); });
  column("seen", [&](row const& r) { out.number(core::to_unix_ms(r.seen)); });
  column("since", [&](row const& r) { out.number(core::to_unix_ms(r.since)); });
  column("incarnation", [&](row const& r) { out.string(hex16(core::raw(r.incarnation))); });
  column("host", [&](row const& r) { out.string(r.host); });
  column("slots", [&](row const& r) { out.number(r.slots); });
  column("running", [&](row const& r) { out.number(r.running); });
  column("finished", [&](row const& r) { out.number(r.finished); });
  column("error", [&](row const& r) { out.string(r.error); });
  out.end_object();
  out.key("gone").begin_array();
  if (from)
    for (auto const& [seq, id] : gone_.all())
      if (seq > *from && !rows_.contains(id)) out.number(id);
  out.end_array();
}

void tasks_topic::write_body(json_out& out, std::uint64_t const* from) const {
  auto const rows = changed_since(from ? *from : 0);
  write_rows(out, rows, from);
}

}  // namespace muster::web
