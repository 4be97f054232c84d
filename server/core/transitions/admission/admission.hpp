// Checks requests and queues their closures. Also rebuilds lost values by running their closures
// again. A rebuild is a separate closure that belongs to no client's session, so that nothing is
// counted, cancelled or reported twice. Lost inputs are rebuilt first. Used only on the engine
// thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"
#include "server/core/transitions/lifecycle/session_flow.hpp"
#include "server/core/transitions/lifecycle/value_keeping.hpp"

namespace muster::core {

class admission {
 public:
  admission(engine_state& core, release_texts& texts, session_flow& flow, value_keeping& keeping,
            lifecycle& life)
      : core_(core), texts_(texts), flow_(flow), keeping_(keeping), life_(life) {}

  /// Returns whether the token is known. If so, its closure must not be scheduled again. If the
  /// closure has finished, its outcome is repeated.
  bool repeat(session& s, std::uint64_t token);
  /// Creates a stream's closures as failed, so that a join reports their failure.
  void fail_all(session& s, std::vector<closure_spec>& specs, failure_kind kind,
                std::string const& why);
  /// Creates the closures, then queues them or makes them wait for inputs. Consumes the specs.
  /// REQUIRES: the specs are valid, and the tables have room for the closures.
  /// @param ids receives the closures' ids in order; may be null.
  void schedule_closures(session& s, std::vector<closure_spec>& specs,
                         std::vector<closure_id>* ids);
  /// Queues the unfinished closures of one request, which were restored into these slots. Consumes
  /// the specs.
  void resume(session& s, std::vector<closure_spec>& specs, std::vector<slot> const& closures);
  std::string why_not_again(slot c) const;
  /// Runs the closure and its lost inputs again. Returns null if this is impossible. REQUIRES: the
  /// closure's value is lost.
  value_store::rebuilding* run_again(slot c);
  void tidy_rebuilders();
  void moved(values_moved& e);
  /// Drops a value whose holder is lost, unless the closure already has another value.
  void lost(value_moved const& m);
  void copied(closure_id id);
  /// Returns INVALID_ARGUMENT with the name of the field that is invalid.
  status valid(session_spec const& spec) const;
  /// Error messages contain the position of the invalid closure.
  status valid(std::vector<closure_spec> const& specs, session_spec const& session) const;
  /// If the session requires it, checks that connected workers provide the functions, and returns
  /// FAILED_PRECONDITION otherwise. Not called for requests without a call, because their closures
  /// fail individually. REQUIRES: valid() succeeded.
  status served(std::vector<closure_spec> const& specs, session_spec const& session) const;

 private:
  slot create(session& s, closure_spec& spec);
  void begin_request(session& s, std::size_t n);
  /// Returns why the session must reject a function that no worker provides, or an empty string.
  std::string unserved(function_id f, session_spec const& session) const;
  /// Announces a request's gangs.
  void form_gangs(session const& s, std::vector<closure_spec> const& specs,
                  std::vector<slot> const* restored = nullptr);
  /// Returns the error with which the closure fails immediately, if any.
  /// @param request closures of the same request, by position.
  /// @param former details of the closure whose value is rebuilt, if any.
  std::optional<failure> take_extras(slot c, std::shared_ptr<closure_extras const> extras,
                                     std::vector<slot> const& request,
                                     closure_details const* former = nullptr);
  /// Returns an input's stored value, or null if the value is large or not stored.
  static blob const* small_input(closure_details const& d, std::size_t k);
  void end_request(std::vector<std::pair<closure_id, failure>>& unfit);
  std::string lost_for_good(closure_id id) const;
  void read_back(value_moved& m);
  status valid_extras(closure_spec const& spec, std::string const& at, std::size_t position,
                      bool streaming) const;
  status valid_needs(closure_extras const& x, std::string const& at) const;

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  value_keeping& keeping_;
  lifecycle& life_;
  std::uint32_t rebuild_depth_ = 0;
};

}  // namespace muster::core
