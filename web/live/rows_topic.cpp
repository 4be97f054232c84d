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
    r.changed = last_change_ = seq();
  }
  for (auto at = rows_.begin(); at != rows_.end();) {
    if (at->second.present) {
      ++at;
      continue;
    }
    gone_.add(seq(), at->first);
    last_change_ = seq();
    at = rows_.erase(at);
  }
  if (std::exchange(more_, more) != more) last_change_ = seq();
}

bool rows_topic::can_serve(std::uint64_t from) const {
  return from <= seq() && gone_.can_serve(from);
}

shared_text rows_topic::delta_for(std::uint64_t from) {
  return last_change_ > from ? delta(from) : nullptr;
}

void rows_topic::write_body(json_out& out, std::uint64_t const* from) const {
  out.key("rows").begin_object();
  for (auto const& [name, r] : rows_)
    if (!from || r.changed > *from) out.key(name).raw(r.json);
  out.end_object();
  out.key("gone").begin_array();
  if (from)
    for (auto const& [seq, name] : gone_.all())
      if (seq > *from && !rows_.contains(name)) out.string(name);
  out.end_array();
  out.key("more").number(more_);
}

}  // namespace muster::web
