#include "server/core/objects/call_table.hpp"

#include <utility>

#include "base/check.hpp"

namespace muster::core::objects {

call_table::verdict call_table::take(caller_id who, call_spec const& c) {
  auto const [known, first] = callers_.try_emplace(who);
  auto& from = known->second;
  if (auto const it = from.calls.find(c.number); it != from.calls.end())
    return it->second.answered ? verdict::answered : verdict::repeated;
  if (c.number <= from.last) return verdict::past;
  // A worker's functions go on while its stream breaks, before it has heard of the next one.
  if (who.of_worker && !first && c.number != from.last + 1) return verdict::early;
  from.last = c.number;
  if (from.calls.size() >= limits_.calls_max || bytes_ + c.args.size() > limits_.waiting_bytes_max)
    return verdict::full;
  bytes_ += c.args.size();
  auto& made = from.calls[c.number];
  made.object = c.object;
  made.method = c.method;
  made.args = c.args;
  return verdict::fresh;
}

call* call_table::find(call_name const& n) {
  auto const it = callers_.find(n.caller);
  if (it == callers_.end()) return nullptr;
  auto const found = it->second.calls.find(n.number);
  return found == it->second.calls.end() ? nullptr : &found->second;
}

call_answer const& call_table::answer(call_name const& n, call_answer a) {
  auto* const c = find(n);
  check(c && !c->answered, "a call is answered once");
  bytes_ = bytes_ - c->args.size() + a.value.size();
  c->args = {};
  c->answered = true;
  c->waits_for.clear();
  c->answer = std::move(a);
  return c->answer;
}

void call_table::taken(caller_id who, std::uint64_t number) {
  auto const it = callers_.find(who);
  if (it == callers_.end()) return;
  auto const found = it->second.calls.find(number);
  if (found == it->second.calls.end() || !found->second.answered) return;
  bytes_ -= found->second.answer.value.size();
  it->second.calls.erase(found);
}

void call_table::forget(caller_id who) {
  auto const it = callers_.find(who);
  if (it == callers_.end()) return;
  for (auto const& [number, c] : it->second.calls) bytes_ -= c.args.size() + c.answer.value.size();
  callers_.erase(it);
}

}  // namespace muster::core::objects
