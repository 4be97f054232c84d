#include <algorithm>

#include "server/core/transitions/sessions/session_requests.hpp"

namespace muster::core {

namespace {
constexpr std::uint32_t not_in_it = ~0u;

bool ended_badly(closure_record const& r) {
  return r.state() == closure_state::failed || r.state() == closure_state::cancelled;
}
}  // namespace

std::string session_requests::why_no_retry(session const& s) const {
  auto const& counts = flow_.of(s).counts;
  if (!s.traits().listed)
    return text(s.id) +
           " is a session, and only jobs can be retried; submit the calls again from its client";
  if (!s.terminal()) return text(s.id) + " has not ended";
  if (counts.failed + counts.cancelled == 0)
    return "no closure of " + text(s.id) + " failed or was cancelled";
  if (core_.values.of(s.number).arguments_gone)
    return "the arguments of " + text(s.id) +
           " are no longer stored: for retries, the server stores at most " +
           std::to_string(core_.step.config.retry_bytes_max) +
           " bytes of arguments, from the newest jobs";
  return {};
}

std::string session_requests::as_submitted(slot c, std::vector<std::uint32_t> const& position,
                                           closure_spec& into) const {
  auto const& r = core_.closures[c];
  core_.book.functions.name(r.function, into);
  into.token = r.token;
  into.args = r.args;
  auto const* d = r.details.get();
  if (!d || !d->extras) return {};
  into.extras = d->extras;
  if (d->extras->inputs.empty()) return {};
  auto own = std::make_shared<closure_extras>(*d->extras);
  for (std::size_t k = 0; k < own->inputs.size(); ++k) {
    auto& input = own->inputs[k];
    auto const id = d->input_ids[k];
    slot const i = core_.closures.find(id);
    if (i == no_slot) return texts_.unknown_value(id).message;
    auto const& from = core_.closures[i];
    bool const again = from.owner == r.owner && position[from.order] != not_in_it;
    if (!again && ended_badly(from)) return "its input " + text(id) + " has no value: it failed";
    if (!again && ended(from.state()) && from.where == value_place::gone)
      if (auto const why = admission_.why_not_again(i); !why.empty())
        return texts_.unknown_value(id).message;
    input.closure = again ? closure_id{} : id;
    input.position = again ? position[from.order] : 0;
  }
  into.extras = std::move(own);
  return {};
}

void session_requests::retry(retry_job& e) {
  if (core_.step.refuse_when_stopping(e.call)) return;
  auto const refuse = [&](std::string why) {
    core_.step.answer(e.call, {code::failed_precondition, std::move(why)});
  };
  auto const* s = core_.sessions.find(e.session);
  if (!s) return core_.step.answer(e.call, texts_.unknown_session(e.session));
  if (auto why = why_no_retry(*s); !why.empty()) return refuse(std::move(why));
  auto const& all = flow_.of(*s).closures;
  std::vector<std::uint32_t> position(all.size(), not_in_it);
  open_session again{e.call, s->spec, {}, {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!ended_badly(core_.closures[all[i]])) continue;
    position[i] = static_cast<std::uint32_t>(again.closures.size());
    auto const why = as_submitted(all[i], position, again.closures.emplace_back());
    if (!why.empty())
      return refuse("closure " + std::to_string(i) + " of " + text(s->id) +
                    " cannot run again: " + why);
  }
  again.spec.open = false;
  again.spec.idempotency_key.clear();
  again.spec.request_digest.clear();
  again.spec.retry_of = s->id;
  again.spec.submitted_by = std::move(e.submitted_by);
  if (auto const bad = admission_.valid(again.closures, again.spec); !bad.ok())
    return refuse("the job cannot run again: " + bad.message);
  if (!e.name.empty()) again.spec.name = std::move(e.name);
  open(again);
}

}  // namespace muster::core
