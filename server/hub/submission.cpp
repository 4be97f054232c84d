#include "server/hub/submission.hpp"

#include <utility>

#include "server/hub/hub.hpp"

namespace muster::server {

core::closure_spec& submission::add(std::string const& function) {
  auto const [at, added] =
      positions_.try_emplace(function, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(function);
  name_of_.push_back(at->second);
  return event_.closures.emplace_back();
}

std::uint32_t submission::calling(core::callable_name called) {
  constexpr std::size_t looked_at = 16;
  auto& all = event_.callables;
  for (std::size_t n = all.size(); n > 0 && n + looked_at > all.size(); --n)
    if (all[n - 1] == called) return static_cast<std::uint32_t>(n);
  all.push_back(std::move(called));
  return static_cast<std::uint32_t>(all.size());
}

submission::shared_extras submission::asking(core::closure_options const& options) {
  if (options == core::closure_options{}) return {};
  if (!last_ || last_->options != options)
    last_ = std::make_shared<core::closure_extras>(core::closure_extras{options, {}});
  return last_;
}

core::closure_extras& submission::own_extras(core::closure_spec& closure) {
  auto own = std::make_shared<core::closure_extras>();
  if (closure.extras) own->options = closure.extras->options;
  auto& extras = *own;
  closure.extras = std::move(own);
  return extras;
}

muster::status submission::learn(hub& h) {
  auto const [wrong, ids] = h.learn(names_);
  if (!wrong.ok()) return wrong;
  for (std::size_t i = 0; i < name_of_.size(); ++i) event_.closures[i].function = ids[name_of_[i]];
  return {};
}

core::open_session submission::opening(core::session_spec spec) {
  core::open_session e;
  e.spec = std::move(spec);
  e.closures = std::move(event_.closures);
  e.callables = std::move(event_.callables);
  return e;
}

core::schedule& submission::appending(core::session_id to, std::uint32_t generation) {
  event_.session = to;
  event_.generation = generation;
  return event_;
}

void submission::clear() {
  event_.closures.clear();
  event_.callables.clear();
  names_.clear();
  name_of_.clear();
  positions_.clear();
}

core::blob arguments(std::string_view text, core::encoding e) {
  static core::blob const none("[]");
  return e == core::encoding::json && text == "[]" ? none : core::blob(text, e);
}

}  // namespace muster::server
