#include "web/live/agents_topic.hpp"

#include "web/live/heartbeat_ages.hpp"

namespace muster::web {
namespace {

using name_of_agent = std::pair<std::string, std::uint32_t>;

std::string text(name_of_agent const& name) {
  return name.first + ":" + std::to_string(name.second);
}

std::string joined(std::string_view a, std::string_view b) {
  a.remove_suffix(1);
  b.remove_prefix(1);
  return std::string(a).append(1, ',').append(b);
}

// Writes each run of consecutive numbers as its first and last number. REQUIRES: `numbers` is
// ascending.
void write_ranges(json_out& out, std::vector<std::uint32_t> const& numbers) {
  out.begin_array();
  for (std::size_t i = 0; i < numbers.size();) {
    auto last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out.number(numbers[i]).number(numbers[last]);
    i = last + 1;
  }
  out.end_array();
}

}  // namespace

void agents_topic::update(std::vector<agent_row> rows, std::size_t more, core::time_point now,
                          std::string ages) {
  advance(now);
  for (auto& [name, r] : rows_) r.present = false;
  for (auto& told : rows) {
    auto& r = rows_[key(std::move(told.job), told.index)];
    r.present = true;
    if (r.is != told.is) {
      r.is = std::move(told.is);
      r.is_changed = change();
    }
    if (r.fares != told.fares) {
      r.fares = std::move(told.fares);
      r.fares_changed = change();
    }
  }
  keep_if(rows_, [](row const& r) { return r.present; });
  if (std::exchange(more_, more) != more) change();
  ages_ = std::move(ages);
  if (now - ages_sent_at_ < heartbeat_ages::every) return;
  ages_sent_at_ = now;
  ages_sent_at_seq_ = change();
}

void agents_topic::write_body(json_out& out, std::uint64_t const* from) const {
  out.key("rows").begin_object();
  for (auto const& [name, r] : rows_)
    if (!from || r.is_changed > *from) out.key(text(name)).raw(joined(r.is, r.fares));
  out.end_object();
  if (from) write_changes(out, *from);
  auto const there = [this](key const& name) { return rows_.contains(name); };
  write_removed(out, from, there, [&out](key const& name) { out.string(text(name)); });
  out.key("more").number(more_);
  if (!ages_.empty() && (!from || ages_sent_at_seq_ > *from)) out.key("ages").raw(ages_);
}

void agents_topic::write_changes(json_out& out, std::uint64_t from) const {
  std::map<std::pair<std::string_view, std::string_view>, std::vector<std::uint32_t>> alike;
  for (auto const& [name, r] : rows_)
    if (r.is_changed <= from && r.fares_changed > from)
      alike[{name.first, r.fares}].push_back(name.second);
  out.key("changes").begin_array();
  for (auto const& [of, indexes] : alike) {
    auto const object = out.object();
    out.key("job").string(of.first);
    out.key("tasks");
    write_ranges(out, indexes);
    out.key("set").raw(of.second);
  }
  out.end_array();
}

}  // namespace muster::web
