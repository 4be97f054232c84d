#include "server/core/blobs/holder_table.hpp"

#include <algorithm>

namespace muster::core {

void holder_table::open(holder_id id, std::string socket, std::string task, holder_id former) {
  holders_[id] = {std::move(socket), std::move(task), former, {}, 0};
}

void holder_table::close(holder_id id, time_point now) {
  auto const node = holders_.extract(id);
  if (!node) return;
  for (auto const& name : node.mapped().names) {
    auto const it = places_.find(name);
    bytes_ -= it->second.size;
    places_.erase(it);
    if (node.mapped().task.empty()) continue;
    --outputs_;
    away_.emplace_back(now, name);
  }
}

void holder_table::forget(std::unordered_map<std::string, place>::iterator it) {
  auto& by = holders_.at(it->second.by);
  by.names.erase(it->first);
  by.bytes -= it->second.size;
  bytes_ -= it->second.size;
  outputs_ -= !by.task.empty();
  places_.erase(it);
}

bool holder_table::hold(holder_id id, std::string_view name, std::uint64_t size, time_point now) {
  auto& by = holders_.at(id);
  if (auto const it = places_.find(std::string(name)); it != places_.end()) {
    if (it->second.by == id) return true;
    if (it->second.by != by.former) return false;
    forget(it);
  }
  // Lines keep what was dropped until its time has come.
  if (places_.size() >= limits_.names_max || new_.size() >= 2 * limits_.names_max) return false;
  places_.emplace(name, place{id, size});
  by.names.emplace(name);
  by.bytes += size;
  bytes_ += size;
  if (by.task.empty()) return true;
  ++outputs_;
  new_.emplace_back(now, name);
  return true;
}

void holder_table::drop(holder_id id, std::string_view name) {
  auto const it = places_.find(std::string(name));
  if (it != places_.end() && it->second.by == id) forget(it);
}

std::optional<holder_table::place> holder_table::find(std::string_view name) const {
  auto const it = places_.find(std::string(name));
  if (it == places_.end()) return {};
  return it->second;
}

bool holder_table::holds(holder_id id, std::string_view name) const {
  auto const found = find(name);
  return found && found->by == id;
}

std::optional<holder_id> holder_table::not_named(std::string_view name) const {
  auto const found = find(name);
  if (!found || task_of(found->by).empty()) return {};
  return found->by;
}

std::vector<std::string> holder_table::take(line& from, time_point until, std::size_t most,
                                            line* then) {
  std::vector<std::string> due;
  while (!from.empty() && from.front().first <= until && due.size() < most) {
    due.push_back(from.front().second);
    if (then) then->push_back(std::move(from.front()));
    from.pop_front();
  }
  return due;
}

std::vector<std::string> holder_table::take_copied(time_point now, std::size_t most) {
  return take(new_, now - limits_.copied, most, &copied_);
}

std::vector<std::string> holder_table::take_told(time_point now, std::size_t most) {
  return take(copied_, now - limits_.told, most, nullptr);
}

std::vector<std::string> holder_table::take_lost(time_point now, std::size_t most) {
  auto due = take(away_, now - limits_.away, most, nullptr);
  std::erase_if(due, [this](std::string const& name) { return places_.contains(name); });
  return due;
}

holder_counts holder_table::counts() const {
  return {holders_.size(), places_.size(), bytes_, outputs_};
}

std::vector<worker_holding> holder_table::workers(std::size_t most) const {
  std::vector<worker_holding> all;
  for (auto const& [id, h] : holders_)
    if (!h.task.empty() && !h.names.empty()) all.push_back({h.task, h.names.size(), h.bytes});
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.task < b.task;
  });
  all.resize(std::min(all.size(), most));
  return all;
}

std::string holder_table::invalid() const {
  std::uint64_t bytes = 0, outputs = 0, names = 0;
  for (auto const& [id, h] : holders_) names += h.names.size();
  for (auto const& [name, p] : places_) {
    auto const by = holders_.find(p.by);
    if (by == holders_.end() || !by->second.names.contains(name)) return "a name of nobody";
    bytes += p.size;
    outputs += !by->second.task.empty();
  }
  return bytes == bytes_ && outputs == outputs_ && names == places_.size() ? "" : "counts are off";
}

}  // namespace muster::core
