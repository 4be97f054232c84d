#include "server/core/values/lineage_book.hpp"

#include "base/check.hpp"

namespace muster::core {

void lineage_book::use(closure_id user, closure_id input) {
  auto& of = users_[user];
  if (std::find(of.inputs.begin(), of.inputs.end(), input) != of.inputs.end()) return;
  of.inputs.push_back(input);
  ++needs_[input].now;
}

bool lineage_book::ended(closure_id user, bool again) {
  auto const it = users_.find(user);
  if (it == users_.end()) return false;
  if (!again) {
    forget_user(user);
    return false;
  }
  auto& of = it->second;
  check(!of.ended, "a closure must not end twice");
  of.ended = true;
  for (auto const input : of.inputs) {
    auto& n = needs_.at(input);
    --n.now;
    ++n.again;
    if (alone_.contains(input)) less_needed_.push_back(input);
    auto const made_of = users_.find(input);
    if (made_of != users_.end()) of.depth = std::max(of.depth, made_of->second.depth);
  }
  return ++of.depth % copied_every == 0;
}

void lineage_book::drop(lineage_book::user const& of) {
  for (auto const input : of.inputs) {
    auto const it = needs_.find(input);
    auto& n = it->second;
    --(of.ended ? n.again : n.now);
    if (n.now + n.again == 0) needs_.erase(it);
    if (alone_.contains(input)) less_needed_.push_back(input);
  }
}

void lineage_book::forget_user(closure_id user) {
  auto const node = users_.extract(user);
  if (node) drop(node.mapped());
}

void lineage_book::copied(closure_id id) {
  copied_.insert(id);
  forget_user(id);
}

void lineage_book::forget(closure_id id) {
  copied_.erase(id);
  alone_.erase(id);
  forget_user(id);
}

bool lineage_book::is_needed_now(closure_id input) const {
  auto const it = needs_.find(input);
  return it != needs_.end() && it->second.now > 0;
}

void lineage_book::keep_for_users(closure_id input) {
  check(is_needed(input), "only a closure that others need can be kept for them");
  if (!alone_.insert(input).second) return;
  oldest_.push(input);
  oldest_.sweep_if_long([this](closure_id id) { return is_alone(id); });
  less_needed_.push_back(input);
}

closure_id lineage_book::take_recheck() {
  while (!less_needed_.empty()) {
    auto const id = less_needed_.back();
    less_needed_.pop_back();
    if (is_alone(id)) return id;
  }
  return {};
}

closure_id lineage_book::over_limit() {
  if (alone_.size() <= alone_max) return {};
  return oldest_.front([this](closure_id id) { return is_alone(id); });
}

std::string lineage_book::invalid() const {
  std::unordered_map<closure_id, need> counted;
  for (auto const& [id, of] : users_)
    for (auto const input : of.inputs) ++(of.ended ? counted[input].again : counted[input].now);
  for (auto const& [id, n] : needs_)
    if (n.now != counted[id].now || n.again != counted[id].again)
      return "the number of closures that need a large input is wrong";
  if (counted.size() != needs_.size())
    return "a large input is listed although no closure needs it, or is not listed";
  for (auto const id : alone_)
    if (!is_needed(id)) return "a closure is kept for other closures that no longer need it";
  if (alone_.size() > alone_max)
    return "the number of closures that are kept only for other closures exceeds the limit";
  return less_needed_.empty() ? std::string()
                              : "an input was not examined in the step that released it";
}

}  // namespace muster::core
