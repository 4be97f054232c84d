// Sessions that hold values: released, left, resumed.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "server/core/moves/session_requests.hpp"

namespace muster::core {

void session_requests::release_one(slot c) {
  auto& r = closures_[c];
  auto const* read = values_.find_reading(closures_.id_of(c));
  bool const told = !read || read->repeat == session_id{};
  if (ended(r.state) && told) return life_.forget_held(c);
  r.released = true;
  flow_.note(sessions_.of(r.owner), c);
  if (ended(r.state)) values_.forget_value(c);  // its outcome is still to come again
}

void session_requests::release_held(release_values const& e) {
  auto* s = sessions_.find(e.session);
  if (!s || s->closed) return step_.answer(e.call, texts_.unknown_session(e.session));
  if (!s->holding())
    return step_.answer(e.call, {code::failed_precondition, text(s->id) + " does not hold values"});
  if (s->by_calls()) flow_.renew_lease(*s, step_.now);
  for (auto const token : e.tokens)
    if (auto const it = s->by_token.find(token); it != s->by_token.end())
      release_one(closures_.find(it->second));
  for (auto const id : e.closures)
    if (slot const c = closures_.find(id); c != no_slot && closures_[c].owner == s->number)
      release_one(c);
  step_.answer(e.call, {});
}

std::string session_requests::no_place_to_hold(session const& s, std::size_t n) const {
  if (values_.full())
    return "held values take " + std::to_string(values_.bytes()) + " bytes (" +
           std::to_string(values_.of(s.number).bytes) + " of them this session's), the limit is " +
           std::to_string(step_.config.value_bytes_max) + ": release RemoteValues";
  if (closures_.size() + n > step_.config.closures_max)
    return "the server holds " + std::to_string(closures_.size()) + " closures, its limit is " +
           std::to_string(step_.config.closures_max) + ": release RemoteValues";
  return {};
}

void session_requests::suspend(suspend_session const& e) {
  auto* s = sessions_.find(e.session);
  if (!s || s->closed) return;
  check(s->holding(), "only holding sessions outlive their stream");
  s->attached = false;
  s->lease_until = never;
  flow_.renew_lease(*s, step_.now);
}

void session_requests::resume(resume_session const& e) {
  if (step_.refuse_when_stopping(e.call)) return;
  auto* s = sessions_.find(e.session);
  if (!s || s->closed) return step_.answer(e.call, texts_.unknown_session(e.session));
  if (!s->holding() || s->by_calls())
    return step_.answer(e.call, {code::failed_precondition, text(s->id) + " cannot be resumed"});
  s->attached = true;
  s->client = e.client;
  s->lease_until = never;
  if (s->lease_alarm != never)
    step_.alarms.clear(std::exchange(s->lease_alarm, never), alarm_kind::session_lease, raw(s->id));
  s->sealed = false;
  std::vector<std::uint64_t> wanted(e.tokens);
  std::sort(wanted.begin(), wanted.end());
  std::vector<closure_id> unwanted;
  for (auto const& [token, id] : s->by_token)
    if (!std::binary_search(wanted.begin(), wanted.end(), token)) unwanted.push_back(id);
  std::sort(unwanted.begin(), unwanted.end());  // the order of a hash table is nobody's business
  for (auto const id : unwanted) {
    slot const c = closures_.find(id);
    keeping_.do_not_repeat(*s, id);
    if (ended(closures_[c].state))
      life_.forget_held(c);
    else
      release_one(c);
  }
  building_.release_per_worker(*s, e.per_worker);
  resume_reply r{s->generation, 0, {}};
  if (s->stopping && s->first_error) {
    r.failed_generation = s->generation;
    r.failure = *s->first_error;
  } else if (s->raised) {
    r.failed_generation = s->raised_generation;
    r.failure = *s->raised;
  }
  step_.answer(e.call, {}, std::move(r));
}

}  // namespace muster::core
