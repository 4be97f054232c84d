#include "server/core/programs/program_table.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster::core::programs {

bool serves(program_spec const& spec, std::string const& type, std::uint32_t index) {
  if (spec.ends_with.empty()) return type == "ps";
  auto const task = type + ":" + std::to_string(index);
  return std::none_of(spec.ends_with.begin(), spec.ends_with.end(),
                      [&](std::string const& named) { return named == type || named == task; });
}

program const* program_table::with_key(std::string const& submitted_by,
                                       std::string const& chosen) const {
  if (chosen.empty()) return nullptr;
  auto const it = by_key_.find({submitted_by, chosen});
  return it == by_key_.end() ? nullptr : &all_.at(it->second);
}

status program_table::room() const {
  if (all_.size() - ended_.size() < limits_.programs_max) return {};
  return {code::resource_exhausted,
          "the server has " + std::to_string(limits_.programs_max) +
              " unfinished programs, which is the limit; wait until one of them has ended",
          {},
          limits_.programs_max};
}

program& program_table::add(program p) {
  auto const id = p.id;
  auto const [it, added] = all_.emplace(id, std::move(p));
  check(added, "a program id must not be used twice");
  if (!it->second.spec->idempotency_key.empty()) by_key_[key_of(it->second)] = id;
  note(it->second);
  return it->second;
}

program* program_table::find(program_id id) {
  auto const it = all_.find(id);
  return it == all_.end() ? nullptr : &it->second;
}
program const* program_table::find(program_id id) const {
  return const_cast<program_table*>(this)->find(id);
}

void program_table::finished(program const& p, std::vector<program_id>& gone) {
  ended_.emplace(p.finished, p.id);
  while (ended_.size() > limits_.finished_max) {
    auto const oldest = ended_.begin()->second;
    gone.push_back(oldest);
    forget(oldest);
  }
}

void program_table::forget(program_id id) {
  auto const& p = all_.at(id);
  check(core::ended(p.state), "only a program that has ended can be removed");
  if (!p.spec->idempotency_key.empty()) by_key_.erase(key_of(p));
  ended_.erase({p.finished, id});
  all_.erase(id);
}

std::vector<program*> program_table::waiting() {
  std::vector<program*> in_order;
  for (auto const& [priority, id] : waiting_) in_order.push_back(&all_.at(id));
  return in_order;
}

std::vector<program const*> program_table::waiting() const {
  std::vector<program const*> in_order;
  for (auto const& [priority, id] : waiting_) in_order.push_back(&all_.at(id));
  return in_order;
}

void program_table::note(program const& p) {
  std::pair const place{-std::int64_t{p.spec->priority}, p.id};
  p.waits() ? (void)waiting_.insert(place) : (void)waiting_.erase(place);
}

}  // namespace muster::core::programs
