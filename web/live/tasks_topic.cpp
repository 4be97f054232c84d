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
    if (std::exchange(r.seen, t.last_seen) != t.last_seen) r.seen_at = seq();
    r.present = true;
    r.missing = false;
    shown now_shown{t.cluster,  t.job,
                    t.host,     t.error,
                    t.index,    t.state,
                    t.since,    t.incarnation,
                    t.slots,    t.running,
                    t.finished, t.failed,
                    t.cordoned, age_mark(now - t.last_seen, heartbeat_interval)};
    shown& before = r;
    if (!added && before == now_shown) continue;
    before = std::move(now_shown);
    r.changed = change();
  }
  keep_if(rows_,
          [whole](row& r) { return r.present || (!whole && !std::exchange(r.missing, true)); });
}

std::vector<tasks_topic::row_entry const*> tasks_topic::rows_since(std::uint64_t from) const {
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
  if (extra.empty()) return changing_rows::delta_for(from);
  auto rows = rows_since(from);
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
  column("cluster", [&](row const& r) { out.string(r.cluster); });
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
  column("failed", [&](row const& r) { out.number(r.failed); });
  column("cordoned", [&](row const& r) { out.number(r.cordoned ? 1 : 0); });
  column("error", [&](row const& r) { out.string(r.error); });
  out.end_object();
  auto const there = [this](std::uint32_t id) { return rows_.contains(id); };
  write_removed(out, from, there, [&out](std::uint32_t id) { out.number(id); });
}

void tasks_topic::write_body(json_out& out, std::uint64_t const* from) const {
  auto const rows = rows_since(from ? *from : 0);
  write_rows(out, rows, from);
}

}  // namespace muster::web
