#include "server/core/transitions/lifecycle/release_texts.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/texts/reason_texts.hpp"

namespace muster::core {

status release_texts::unknown_per_worker(per_worker_id id) const {
  return {code::not_found, core_.builds.was(id) ? text(id) + std::string(core_.builds.whereabouts())
                                                : "there is no " + text(id)};
}

std::string release_texts::when_and_why(release_note const& n) const {
  return core::when_and_why(n.why, core_.step.now - n.at, core_.step.config);
}

std::string release_texts::released_text(closure_id id) const {
  auto const note = core_.values.note_of(id);
  return "the value of " + text(id) + " was released" +
         (note ? " " + when_and_why(*note) : std::string());
}

status release_texts::unknown_value(closure_id id) const {
  if (core_.values.note_of(id)) return {code::not_found, released_text(id)};
  // The note of an unused record has no time.
  if (auto const note = core_.closures.note_of(id); note && note->at != time_point{})
    return {code::not_found, "the value of " + text(id) + " was released " + when_and_why(*note)};
  if (core_.closures.is_in_other_table(id))
    return {code::not_found, text(id) + " belongs to another cluster"};
  return {code::not_found, "there is no " + text(id) + ", or its value was released"};
}

status release_texts::unknown_session(session_id id) const {
  if (!core_.sessions.was(id)) return {code::not_found, "there is no " + text(id)};
  if (core_.sessions.find(id)) return {code::not_found, text(id) + " has ended"};
  auto const note = core_.sessions.note_of(id);
  return {code::not_found, text(id) + " has ended and was removed" +
                               (note ? ", " + when_and_why(*note) : std::string())};
}

}  // namespace muster::core
