// New closures: whether a request can be taken, and what each brings into its queue; and closures
// that run again since their values were lost against everybody's will. Such a one is a closure of
// its own that belongs to no client's session, so that nothing is counted, cancelled or told twice;
// its inputs may be lost as well and are made again first.
//
// Owned by the coordinator, used within a step; engine thread only.
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

  /// True: the token is known, so the closure is not scheduled again.
  bool repeat(session& s, std::uint64_t token);
  /// Creates closures that fail at once, for a stream, whose joins must not pass over them.
  void fail_all(session& s, std::vector<closure_spec>& specs, failure_kind kind,
                std::string const& why);
  /// Creates and queues the closures, or lets them wait for inputs. `ids`: null, or where theirs
  /// go, in order. Consumes the specs. REQUIRES: valid, and there is room.
  void schedule_closures(session& s, std::vector<closure_spec>& specs,
                         std::vector<closure_id>* ids);
  /// Those of one request that have not ended and were restored into these slots, which are queued
  /// and in no queue yet. Inputs are named by id. Consumes the specs.
  void resume(session& s, std::vector<closure_spec>& specs, std::vector<slot> const& closures);
  /// Empty when the closure, whose value is lost, can run again; else why not.
  std::string why_not_again(slot c) const;
  /// Has it run again, with its lost inputs. Null: it cannot. REQUIRES: its value is gone.
  value_store::rebuilding* run_again(slot c);
  /// Empties the queues of closures that ran again, when nothing of them is left.
  void tidy_rebuilders();
  /// The disk has done, or failed to do, what it was told; or holders of values are gone.
  void moved(values_moved& e);
  /// Drops a value whose holder is gone. Does nothing where it has another one by now.
  void lost(value_moved const& m);
  /// The server has what the value names: it is not made again.
  void copied(closure_id id);
  /// Whether the session's own options are possible. INVALID_ARGUMENT names the field.
  status valid(session_spec const& spec) const;
  /// The same of closures, each by its position.
  status valid(std::vector<closure_spec> const& specs, session_spec const& session) const;
  /// Whether the session's demand for functions that some worker has is met. Of closures that come
  /// by a stream, which refuses nothing, those for which it is not fail one by one. REQUIRES:
  /// valid.
  status served(std::vector<closure_spec> const& specs, session_spec const& session) const;

 private:
  slot create(session& s, closure_spec& spec);
  /// Before the closures that one request creates, n at most: they are written down as one.
  void begin_request(session& s, std::size_t n);
  /// Why nobody can run it now though the session demands that somebody can; or empty.
  std::string unserved(function_id f, session_spec const& session) const;
  /// `restored`: their records, which is when those that ran already are in no gang any more.
  void form_gangs(session const& s, std::vector<closure_spec> const& specs,
                  std::vector<slot> const* restored = nullptr);
  /// Gives a new closure its options and inputs. `request`: closures of the same request by
  /// position. `former`: of the closure that it makes again. Nothing, or what it fails with at
  /// once.
  std::optional<failure> take_extras(slot c, std::shared_ptr<closure_extras const> extras,
                                     std::vector<slot> const& request,
                                     closure_details const* former = nullptr);
  /// The value of an input that was kept with the closure; null: there is none, or it is large.
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
  std::uint32_t rebuild_depth_ = 0;  // while one takes its extras
};

}  // namespace muster::core
