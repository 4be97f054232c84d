#include "server/core/objects/call_table.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core::objects {

call_table::verdict call_table::take(caller_id who, call_spec const& c) {
  auto const [known, first] = callers_.try_emplace(who);
  auto& from = known->second;
  if (auto const it = from.calls.find(c.number); it != from.calls.end())
    return it->second.answered ? verdict::answered : verdict::repeated;
  if (c.number <= from.last) return verdict::past;
  // A function can send calls after its stream broke and before it learns of the new stream.
  if (who.of_worker && !first && c.number != from.last + 1) return verdict::early;
  from.last = c.number;
  if (from.calls.size() >= limits_.calls_max || bytes_ + c.args.size() > limits_.waiting_bytes_max)
    return verdict::full;
  bytes_ += c.args.size();
  if (from.left) ++left_;
  auto& made = from.calls[c.number];
  made.object = c.object;
  // A method name above the limit is refused, so the rest of the name is not needed.
  made.method = c.method.substr(0, limits_.name_bytes_max + 1);
  made.args = c.args;
  ++open_[c.object];
  return verdict::fresh;
}

bool call_table::pass(caller_id who, std::uint64_t number) {
  auto const it = callers_.find(who);
  // The caller is new to this server process, so earlier numbers belong to an earlier process.
  if (it == callers_.end()) return true;
  if (number > it->second.last + 1) return false;
  it->second.last = std::max(it->second.last, number);
  return true;
}

call* call_table::find(call_name const& n) {
  auto const it = callers_.find(n.caller);
  if (it == callers_.end()) return nullptr;
  auto const found = it->second.calls.find(n.number);
  return found == it->second.calls.end() ? nullptr : &found->second;
}

call_answer call_table::answer(call_name const& n, call_answer a) {
  auto* const c = find(n);
  check(c && !c->answered, "a call must not be answered twice");
  if (bytes_ - c->args.size() + a.value.size() > 2 * limits_.waiting_bytes_max)
    a = {n,
         false,
         {},
         because(
             failure_reason::no_room_for_value,
             {failure_kind::user, "muster.ResourceExhausted",
              "too many answers are waiting for their callers, so there is no room for this value",
              "", "", 0})};
  bytes_ = bytes_ - c->args.size() + a.value.size();
  c->args = {};
  close(c->object);
  c->answered = c->told = true;
  c->waits_for.clear();
  if (auto const from = callers_.find(n.caller); from->second.left) {
    bytes_ -= a.value.size();
    --left_;
    from->second.calls.erase(n.number);
    if (from->second.calls.empty()) callers_.erase(from);
    return a;
  }
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

void call_table::caller_reconnected(caller_id who) {
  auto const it = callers_.find(who);
  if (it == callers_.end()) return;
  for (auto& [number, c] : it->second.calls) c.told = false;
}

void call_table::close(object_id object) {
  auto const it = open_.find(object);
  if (--it->second == 0) open_.erase(it);
}

std::vector<object_id> call_table::drop_calls(caller& of) {
  std::vector<object_id> waited;
  for (auto const& [number, c] : of.calls) {
    bytes_ -= c.args.size() + c.answer.value.size();
    if (c.answered) continue;
    close(c.object);
    waited.push_back(c.object);
  }
  of.calls.clear();
  return waited;
}

void call_table::drop_answered(caller& of) {
  std::erase_if(of.calls, [this](auto const& one) {
    if (one.second.answered) bytes_ -= one.second.answer.value.size();
    return one.second.answered;
  });
}

std::vector<object_id> call_table::leave(caller_id who) {
  std::vector<object_id> forgotten;
  auto const it = callers_.find(who);
  if (it == callers_.end()) return forgotten;
  auto& from = it->second;
  drop_answered(from);
  if (left_ + from.calls.size() > limits_.left_max) forgotten = drop_calls(from);
  left_ += from.calls.size();
  from.left = true;
  if (from.calls.empty()) callers_.erase(it);
  return forgotten;
}

std::vector<object_id> call_table::retire(caller_id who) {
  auto const it = callers_.find(who);
  if (it == callers_.end()) return {};
  auto forgotten = drop_calls(it->second);
  retired_.push_back(who);
  if (retired_.size() <= limits_.lost_max) return forgotten;
  // Keeps a caller that has returned and has calls.
  auto const oldest = callers_.find(retired_.front());
  if (oldest != callers_.end() && oldest->second.calls.empty()) callers_.erase(oldest);
  retired_.pop_front();
  return forgotten;
}

}  // namespace muster::core::objects
