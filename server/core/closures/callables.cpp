#include "server/core/closures/function_table.hpp"

namespace muster::core {

// The hash precedes the name, because the hash has a fixed length or is absent.
std::string function_table::key_of(function_id f, callable_name const& called) {
  return std::to_string(raw(f)) + (called.hash.empty() ? '-' : '#') + called.hash + called.name;
}

std::optional<function_id> function_table::intern(function_id f, callable_name const& called) {
  if (auto const it = callables_.find(key_of(f, called)); it != callables_.end()) return it->second;
  if (called.hash.empty()) return add(f, called);
  auto const plain = intern(f, {called.name, {}});
  if (!plain) return {};
  auto& versions = (*this)[*plain].versions;
  if (versions >= config_.callable_versions_max) return plain;
  auto const id = add(f, called);
  if (!id) return plain;
  ++versions;
  return id;
}

std::optional<function_id> function_table::add(function_id f, callable_name const& called) {
  if (callables_.size() >= config_.callables_max) return {};
  function_id id{static_cast<std::uint32_t>(entries_.size())};
  bool const again = !free_.empty();
  if (again) {
    id = free_.back();
    free_.pop_back();
  }
  auto& e = again ? (*this)[id] : entries_.emplace_back();
  e.name = called.name;
  e.callable = true;
  e.served = f;
  e.hash = called.hash;
  if (again)
    callables_.emplace(key_of(f, called), id);
  else
    learn(e);
  changes_.functions.push_back({id, true, true, f, e.name, e.hash});
  return id;
}

void function_table::forget(function_entry& f) {
  auto const at = callables_.find(key_of(f.served, {f.name, f.hash}));
  auto& function = (*this)[f.served];
  function.succeeded += f.succeeded;
  function.failed += f.failed;
  function.cancelled += f.cancelled;
  free_.push_back(at->second);
  changes_.functions.push_back({at->second, false, true, f.served, {}, {}});
  callables_.erase(at);
  function_entry fresh;
  fresh.served = f.served;
  fresh.callable = true;
  f = fresh;
}

// Callables with a hash are removed first, because the callable without a hash must outlive them.
void function_table::forget_unused(std::vector<bool> used) {
  for (bool const with_hash : {true, false})
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      auto& e = *by_id_[i];
      if (!e.callable || e.name.empty() || used[i] || e.versions > 0 || e.hash.empty() == with_hash)
        continue;
      if (with_hash) --(*this)[callables_.at(key_of(e.served, {e.name, {}}))].versions;
      forget(e);
    }
}

function_entry function_table::totals(function_id f) const {
  auto sum = (*this)[f];
  for (auto const& [key, id] : callables_) {
    auto const& c = (*this)[id];
    if (c.served != f) continue;
    sum.waiting += c.waiting;
    sum.queued += c.queued;
    sum.running += c.running;
    sum.succeeded += c.succeeded;
    sum.failed += c.failed;
    sum.cancelled += c.cancelled;
  }
  return sum;
}

}  // namespace muster::core
