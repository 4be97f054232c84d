// Closures to schedule, in the form that all interfaces share.
//
//   json_ref, SessionRequest, ScheduleRequest ──► submission ──► open_session, schedule ──► hub
//
// A submission is owned by its request, or by a stream that reuses it. It is not thread-safe;
// `learn` is called only on the engine thread. The request limits the submission's size; the core
// accepts or rejects a submission as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/core/api/model.hpp"

namespace muster::server {

class hub;

class submission {
 public:
  using shared_extras = std::shared_ptr<core::closure_extras const>;

  /// The caller must set the closure's arguments and token.
  core::closure_spec& add(core::function_id function) {
    auto& c = event_.closures.emplace_back();
    c.function = function;
    return c;
  }
  /// REQUIRES: the submission specifies all functions by number, or all by name.
  core::closure_spec& add(std::string const& function);
  void reserve(std::size_t closures) { event_.closures.reserve(closures); }

  /// Returns null for default options, and the previous call's extras if the options are equal.
  shared_extras asking(core::closure_options const& options);
  /// Gives the closure its own copy of its extras, for inputs and per-worker values.
  static core::closure_extras& own_extras(core::closure_spec& closure);

  /// Returns the number for a closure's `callable`. Reuses the number of an equal name if it was
  /// used recently.
  std::uint32_t calling(core::callable_name called);
  /// Callable names, to which the closures' `callable` refers; numbered from 1.
  std::vector<core::callable_name>& callables() { return event_.callables; }

  std::vector<core::closure_spec> const& closures() const { return event_.closures; }
  core::closure_spec& operator[](std::size_t i) { return event_.closures[i]; }
  std::vector<std::string> const& names() const { return names_; }

  /// Gets the functions' numbers from the core. Returns the same errors as hub::learn. Used only on
  /// the engine thread.
  muster::status learn(hub& h);

  /// REQUIRES: `learn` has succeeded.
  core::open_session opening(core::session_spec spec);
  /// Returns the event that appends the closures, valid until `clear`. For a stream, the hub moves
  /// the contents out but leaves the memory for reuse. REQUIRES: `learn` has succeeded.
  core::schedule& appending(core::session_id to, std::uint32_t generation = 0);
  void clear();

 private:
  core::schedule event_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> name_of_;
  std::unordered_map<std::string, std::uint32_t> positions_;
  shared_extras last_;
};

/// Empty argument lists share one allocation.
core::blob arguments(std::string_view text, core::encoding e);

}  // namespace muster::server
