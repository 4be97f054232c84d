#include "web/live/rows_topic.hpp"

namespace muster::web {

void rows_topic::update(named_rows rows, std::size_t more, core::time_point now) {
  advance(now);
  for (auto& [name, r] : rows_) r.present = false;
  for (auto& [name, json] : rows) {
    auto& r = rows_[name];
    r.present = true;
    if (r.json == json) continue;
    r.json = std::move(json);
    r.changed = change();
  }
  keep_if(rows_, [](row const& r) { return r.present; });
  if (std::exchange(more_, more) != more) change();
}

void rows_topic::write_body(json_out& out, std::uint64_t const* from) const {
  out.key("rows").begin_object();
  for (auto const& [name, r] : rows_)
    if (!from || r.changed > *from) out.key(name).raw(r.json);
  out.end_object();
  auto const there = [this](std::string const& name) { return rows_.contains(name); };
  write_removed(out, from, there, [&out](std::string const& name) { out.string(name); });
  out.key("more").number(more_);
}

}  // namespace muster::web
