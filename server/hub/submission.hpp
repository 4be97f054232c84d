// Closures that somebody wants to have run, on their way to the core. This is where all ways to
// schedule meet: the parser of a dialect fills a submission (web/json/submission_json for REST,
// rpc/sessions/schedule_convert for streams and calls), and what comes out of it is an event.
//
//   json_ref, SessionRequest, ScheduleRequest ──► submission ──► open_session, schedule ──► hub
//
// Owned by its request, or by its stream, which fills it again and again. One thread at a time;
// `learn` is for the engine's. What it may hold is limited by the size of the request, and what is
// in it is judged by the core, which takes it as a whole or not at all.
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

  /// Appends a closure, whose arguments and token the caller sets.
  core::closure_spec& add(core::function_id function) {
    auto& c = event_.closures.emplace_back();
    c.function = function;
    return c;
  }
  /// The same by name. REQUIRES: a submission has its functions either by number or by name.
  core::closure_spec& add(std::string const& function);
  void reserve(std::size_t closures) { event_.closures.reserve(closures); }

  /// What a closure asks for: null if it is nothing, shared with the one before if it is the same.
  shared_extras asking(core::closure_options const& options);
  /// To add inputs and per-worker values: extras that no other closure has, with its options.
  static core::closure_extras& own_extras(core::closure_spec& closure);

  /// The number of what a closure is to call, for its `callable`. The same as one of the last few
  /// has theirs.
  std::uint32_t calling(core::callable_name called);
  /// What the closures' `callable` counts.
  std::vector<core::callable_name>& callables() { return event_.callables; }

  std::vector<core::closure_spec> const& closures() const { return event_.closures; }
  core::closure_spec& operator[](std::size_t i) { return event_.closures[i]; }
  /// Of the functions that came by name, each once.
  std::vector<std::string> const& names() const { return names_; }

  /// Engine thread: has the core number the functions that came by name. Errors: hub::learn's.
  muster::status learn(hub& h);

  /// Takes the closures. REQUIRES: learned.
  core::open_session opening(core::session_spec spec);
  /// The event that appends them, valid until `clear`; a stream's hub empties it and leaves it here
  /// with its memory. REQUIRES: learned.
  core::schedule& appending(core::session_id to, std::uint32_t generation = 0);
  void clear();

 private:
  core::schedule event_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> name_of_;  // by closure: a position in names_
  std::unordered_map<std::string, std::uint32_t> positions_;
  shared_extras last_;
};

/// The arguments of a closure. Those of a function that takes none are one allocation for all.
core::blob arguments(std::string_view text, core::encoding e);

}  // namespace muster::server
