#include "server/core/coordination/key_values/key_value_store.hpp"

#include <charconv>

#include "base/utf8.hpp"

namespace muster::core::coordination {
namespace {

// Like the original coordination service, accepts blanks around the number and a leading plus sign.
std::optional<std::int64_t> number(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  auto const first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  text = text.substr(first, text.find_last_not_of(blanks) + 1 - first);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return n;
}

}  // namespace

std::string normal_key(std::string_view key) {
  key = key.substr(0, key.find('\0'));
  std::string normal;
  normal.reserve(key.size());
  for (char const c : key)
    if (c != '/' || (!normal.empty() && normal.back() != '/')) normal.push_back(c);
  if (!normal.empty() && normal.back() == '/') normal.pop_back();
  return normal;
}

void key_value_store::put(time_point now, entries::iterator it, blob value, key_why why) {
  bytes_ += value.size();
  bytes_ -= it->second.value.size();
  it->second = {std::move(value), now};
  log_.note(key_changed{{it->first, it->second.value, now}, why});
}

status key_value_store::insert(time_point now, std::string const& key, blob value, bool overwrite,
                               key_why why) {
  auto const it = entries_.lower_bound(key);
  auto const exists = it != entries_.end() && it->first == key;
  if (exists && !overwrite)
    return {code::already_exists, "key " + shortened(key, 2'000) + " already exists."};
  if (key.size() > limits_.key_bytes_max)
    return {code::invalid_argument, longer_than("key", key.size(), limits_.key_bytes_max)};
  // Agents receive keys as Protobuf strings and could not parse a reply with a key that is not
  // UTF-8.
  if (!exists && !is_utf8(key)) return {code::invalid_argument, "key: must be valid UTF-8"};
  auto const old = exists ? it->second.value.size() : 0;
  if (bytes_ - old + value.size() + (exists ? 0 : key.size()) > limits_.value_bytes_max)
    return {code::resource_exhausted, "the cluster's keys and values have reached their limit of " +
                                          std::to_string(limits_.value_bytes_max) + " bytes"};
  if (exists) {
    put(now, it, std::move(value), why);
    return {};
  }
  if (entries_.size() >= limits_.keys_max)
    return {code::resource_exhausted,
            "the cluster has reached its limit of " + std::to_string(limits_.keys_max) + " keys"};
  bytes_ += key.size();
  put(now, entries_.emplace_hint(it, key, entry{}), std::move(value), why);
  return {};
}

key_value_store::entry const* key_value_store::find(std::string_view key) const {
  auto const it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

result<blob> key_value_store::increment(time_point now, std::string const& key, std::int64_t by) {
  std::int64_t old = 0;
  if (auto const* e = find(key)) {
    auto const n = number(e->value.view());
    if (!n)
      return status{code::failed_precondition, "Failed to parse value \"" +
                                                   std::string(e->value.view().substr(0, 64)) +
                                                   "\" as an integer."};
    old = *n;
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(old, by, &sum))
    return status{code::failed_precondition, "key " + shortened(key, 2'000) + " has the value " +
                                                 std::to_string(old) + ": adding " +
                                                 std::to_string(by) + " exceeds the 64-bit range"};
  blob const value(std::to_string(sum), encoding::bytes);
  auto const stored = insert(now, key, value, true, key_why::incremented);
  if (!stored.ok()) return stored;
  return value;
}

std::vector<key_value> key_value_store::below(std::string_view directory) const {
  std::vector<key_value> found;
  auto const prefix = std::string(directory) + '/';
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && it->first.starts_with(prefix); ++it)
    found.emplace_back(it->first, it->second.value);
  return found;
}

void key_value_store::erase(std::string_view key) {
  auto const drop = [this](entries::iterator it) {
    bytes_ -= it->first.size() + it->second.value.size();
    log_.note(key_changed{{it->first, {}, {}}, key_why::deleted});
    return entries_.erase(it);
  };
  if (auto const it = entries_.find(key); it != entries_.end()) drop(it);
  auto const prefix = std::string(key) + '/';
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && it->first.starts_with(prefix);)
    it = drop(it);
}

key_wait_id key_value_store::wait(std::string const& key, call_id call, waiter w) {
  auto const [it, fresh] = waiting_.try_emplace(key);
  if (fresh) it->second = waits_.add({key, {}});
  waiting_calls_ += waits_.at(it->second).calls.emplace(call, std::move(w)).second;
  return it->second;
}

void key_value_store::withdraw(key_wait_id id, call_id call) {
  auto& w = waits_.at(id);
  waiting_calls_ -= w.calls.erase(call);
  if (!w.calls.empty()) return;
  waiting_.erase(w.key);
  waits_.take(id);
}

key_value_store::waiters key_value_store::wake(std::string_view key) {
  auto const it = waiting_.find(key);
  if (it == waiting_.end()) return {};
  auto calls = waits_.take(it->second).calls;
  waiting_.erase(it);
  waiting_calls_ -= calls.size();
  return calls;
}

std::string key_value_store::violated_invariant() const {
  std::size_t calls = 0, bytes = 0;
  for (auto const& [key, id] : waiting_) {
    if (waiting_at(id).empty())
      return "key " + key + " is listed as awaited, but no call waits for it";
    if (awaited(id) != key) return "key " + key + " does not match its list of waiting calls";
    if (entries_.contains(key)) return "key " + key + " exists, but calls are still waiting for it";
    calls += waiting_at(id).size();
  }
  if (calls != waiting_calls_) return "the number of calls that wait for keys is wrong";
  for (auto const& [key, e] : entries_) bytes += key.size() + e.value.size();
  if (bytes != bytes_) return "the size of all keys and values is wrong";
  return {};
}

}  // namespace muster::core::coordination
