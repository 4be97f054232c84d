// Workers are counted only when a worker attaches or leaves. Other functions visit all versions,
// because there are few.
#include "server/core/transitions/placing/version_watch.hpp"

#include <algorithm>

#include "server/core/texts/explanation_texts.hpp"

namespace muster::core {

namespace {
constexpr std::size_t closures_a_step = 5'000;
constexpr duration a_moment = std::chrono::milliseconds(1);

std::string cure_of(std::string const& function, std::string_view family) {
  if (family != "python") return "; start a worker that provides it";
  return "; start a worker with 'python" + function.substr(family.size() + 1) +
         " -m muster worker', or use a version that the workers provide";
}
}  // namespace

std::string_view family_of(std::string_view function) {
  auto const colon = function.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  auto const version = function.substr(colon + 1);
  bool const is = !version.empty() && version.front() != '.' &&
                  version.find_first_not_of("0123456789.") == std::string_view::npos;
  return is ? function.substr(0, colon) : std::string_view{};
}

void version_watch::learn_names() {
  auto const& all = core_.book.functions.all();
  for (; functions_seen_ < all.size(); ++functions_seen_) {
    auto const& entry = all[functions_seen_];
    auto const family = family_of(entry.name);
    if (family.empty() || entry.callable) continue;
    auto at = std::find_if(families_.begin(), families_.end(),
                           [family](auto const& f) { return f.name == family; });
    if (at == families_.end()) at = families_.insert(at, {std::string(family), 0});
    versions_.push_back({static_cast<function_id>(functions_seen_),
                         static_cast<std::uint32_t>(at - families_.begin())});
    workers_seen_ = ~std::uint64_t{0};  // recount, because workers may provide the new version
  }
}

void version_watch::count_workers() {
  auto const families_before = families_;
  auto const before = versions_;
  for (auto& f : families_) f.present = 0;
  for (auto& v : versions_) v.present = 0;
  for (auto const& [stream, w] : core_.registry.all())
    for (auto const f : w->task->functions) {
      auto const* known = find(f);
      if (!known) continue;
      auto& v = versions_[static_cast<std::size_t>(known - versions_.data())];
      ++v.present, ++families_[v.family].present;
    }
  workers_seen_ = core_.registry.all().size();
  for (std::size_t i = 0; i < versions_.size(); ++i) {
    auto& v = versions_[i];
    if (before[i].present > 0 && v.present == 0) v.left = core_.step.now;
    bool const first = families_before[v.family].present == 0;
    if (first && is_missing(v) && waits(v))
      v.expected = core_.step.now + core_.step.config.reconnect_grace;
  }
}

version_watch::version const* version_watch::find(function_id f) const {
  auto const at = std::find_if(versions_.begin(), versions_.end(),
                               [f](version const& v) { return v.function == f; });
  return at == versions_.end() ? nullptr : &*at;
}

time_point version_watch::present_until(version const& v) const {
  auto const left =
      v.left == time_point{} ? time_point{} : v.left + core_.step.config.reconnect_grace;
  return std::max({trusted_until_, v.expected, left});
}

bool version_watch::refuse() {
  if (refused_ >= closures_a_step && due_ > core_.step.now) return false;
  refused_ = 0;
  due_ = never;
  learn_names();
  if (versions_.empty()) return false;
  if (workers_seen_ != core_.registry.all().size() || !core_.step.fx.welcomes.empty())
    count_workers();
  bool any = false;
  for (auto const& v : versions_) {
    if (!is_missing(v) || !waits(v)) continue;
    auto const until = present_until(v);
    if (until > core_.step.now) {
      due_ = std::min(due_, until);
      continue;
    }
    auto const& function = core_.book.functions[v.function].name;
    auto const why = "the call requires " + function + ", but the connected workers have " +
                     text_of_versions(present_versions(v.family)) +
                     cure_of(function, families_[v.family].name);
    for (auto const id : waiting_for(v.function, closures_a_step - refused_)) {
      slot const c = core_.closures.find(id);
      if (c == no_slot || ended(core_.closures[c].state()) ||
          core_.closures[c].worker != worker_number{})
        continue;
      any = true;
      ++refused_;
      life_.fail(c, closure_state::failed,
                 {failure_kind::stale_handle, "", why, "", "", core_.closures[c].attempt});
    }
    if (refused_ < closures_a_step) continue;
    due_ = core_.step.now + a_moment;
    break;
  }
  return any;
}

std::vector<closure_id> version_watch::waiting_for(function_id f, std::size_t most) const {
  std::vector<closure_id> found;
  for (session_queue const& q : core_.scheduler.all_queues()) {
    bool deferred = false;
    for (auto const& l : q.queues) {
      if (l.function != f || !l.waits()) continue;
      deferred |= l.deferred > 0;
      for (slot c = l.queue.front; c != no_slot && found.size() < most; c = core_.closures[c].next)
        found.push_back(core_.closures.id_of(c));
    }
    if (!deferred) continue;
    for (slot c = q.deferred.front; c != no_slot && found.size() < most; c = core_.closures[c].next)
      if (q.queues[core_.closures[c].queue].function == f) found.push_back(core_.closures.id_of(c));
  }
  return found;
}

std::vector<std::string> version_watch::present_versions(std::uint32_t family) const {
  std::vector<std::string> there;
  for (auto const& v : versions_)
    if (v.family == family && v.present > 0) there.push_back(core_.book.functions[v.function].name);
  std::sort(there.begin(), there.end());
  return there;
}

std::optional<version_wait> version_watch::why_it_waits(slot c, time_point now) const {
  auto const& r = core_.closures[c];
  if (r.state() != closure_state::queued || r.sent()) return {};
  auto const* v = find(core_.book.functions.served(r.function));
  if (!v || v->present > 0) return {};
  return version_wait{families_[v->family].name, core_.book.functions[v->function].name,
                      present_versions(v->family), std::max(duration{}, present_until(*v) - now)};
}

}  // namespace muster::core
