// Objects on tasks, and calls to them. The input is callers' requests and workers' reports; the
// output is orders and answers.
//
//   create, call, drop, waits ──┐                      ┌──► orders to the workers that hold them
//   attached, lost, built, ─────┼──► book, calls ──────┼──► answers to callers
//   answered, tick              │                      └──► sessions that relied on lost objects
//   session_ended ──────────────┘
//
// A call is executed at most once: the caller numbers its calls, and the worker skips numbers that
// it has seen. Calls are never sent to another incarnation of a task. If a task's incarnation
// changes, its unanswered calls fail with UNAVAILABLE. Calls of one caller reach an object in
// numerical order. Uses no clock, randomness or I/O. Used only on the engine thread; bounded by
// object_limits.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/core/objects/call_table.hpp"
#include "server/core/objects/dataset.hpp"
#include "server/core/objects/object_book.hpp"

namespace muster::core::objects {

class object_table {
 public:
  /// `last` is the highest id that earlier server processes may have used.
  object_table(object_limits limits, std::uint64_t last) : limits_(limits), last_before_(last) {
    book_.begin_above(last);
  }
  object_table(object_table const&) = delete;

  /// A session that can use objects. Functions on workers that have the session's ticket make calls
  /// on the session's behalf.
  struct user {
    std::string ticket{};     // random secret
    std::string submitter{};  // token id; empty without authentication
    bool all = false;
  };
  /// Registers the session, or its new stream if it is already open. Returns INVALID_ARGUMENT with
  /// the name of the field if the user is invalid.
  status open(session_id s, user u);
  /// Removes the session with its datasets and its objects, except detached objects.
  void session_ended(session_id s);
  void session_disconnected(time_point now, session_id s);
  void session_reconnected(session_id s);
  /// Returns whether session `s` must wait before it can create an object with this name, because
  /// the name's owner disconnected less than object_limits::name_grace ago.
  bool must_wait_for_name(time_point now, session_id s, std::string_view name) const;
  session_id holder_of(std::string_view ticket) const;

  /// Creates an object. If the session repeats a `number`, returns the same object. An object with
  /// the same name is deleted if its client has been away for object_limits::name_grace, and if
  /// this session may use the object. Returns the same errors as object_book::check, or
  /// FAILED_PRECONDITION if the session is not open.
  result<object_id> create(time_point now, session_id s, std::uint64_t number, object_spec spec);
  bool has_made(session_id s, std::uint64_t number) const;
  /// Returns the connected tasks that can hold objects, starting with the tasks that hold the
  /// fewest objects. Scans all tasks.
  std::vector<task_name> holders() const;
  /// Records the session as a user of the object. Fails with NOT_FOUND or PERMISSION_DENIED.
  result<object_id> find(session_id s, std::string_view name);
  /// Makes a call; an error becomes its answer. `s` is the session on whose behalf the call is
  /// made, if any.
  void call(caller_id who, session_id s, call_spec const& c);
  void taken(caller_id who, std::uint64_t number) { calls_.taken(who, number); }
  /// Records that the call `within` waits for the answer to `inner`. If the two calls wait for each
  /// other, `inner` fails. Ignored unless the worker of `stream` executes `within`.
  void waits(stream_id stream, call_name const& within, call_name const& inner);
  /// Deletes an object or dataset. Unanswered calls fail with CANCELLED. Returns the same errors as
  /// `find`.
  status drop(session_id s, object_id id);
  void remove(object_id id);

  /// Creates a dataset. If the session repeats a `number`, returns the same dataset. Fails with
  /// INVALID_ARGUMENT, RESOURCE_EXHAUSTED or, if the session is not open, FAILED_PRECONDITION.
  result<dataset_id> create_dataset(time_point now, session_id s, std::uint64_t number,
                                    datasets::dataset_spec spec);
  /// Requests a split; an error becomes the call's answer. REQUIRES: the closure belongs to session
  /// `of` and executes this attempt on `worker`.
  void draw(caller_id who, session_id s, call_spec const& c, datasets::draw_request const& r,
            session_id of, std::string const& worker);
  void refuse(caller_id who, call_spec const& c, failure why);
  bool is_drawn_from() const { return !drawing_.empty(); }
  void closure_ended(closure_id closure, bool succeeded);
  void closure_stops(closure_id closure);
  dataset const* find(dataset_id id) const {
    auto const it = datasets_.find(id);
    return it == datasets_.end() ? nullptr : &it->second;
  }
  datasets::dataset_totals dataset_totals() const;
  /// Returns the newest datasets with ids below `before`, if it is set, that this token may see. An
  /// empty `submitter` sees all datasets.
  std::vector<datasets::dataset_view> list_datasets(dataset_id before, std::size_t limit,
                                                    std::string const& submitter) const;

  /// `takes` is true if the task can hold objects. REQUIRES: task_disconnected() was called for
  /// its previous stream.
  void attached(time_point now, task_name const& t, core::incarnation i, stream_id stream,
                bool takes);
  /// The task's objects are lost after object_limits::grace unless the task reconnects, or
  /// immediately if `final`.
  void task_disconnected(time_point now, stream_id stream, bool final, std::string const& why);
  /// Fails a call that could not be sent because its worker reads too slowly. Ignored if the call
  /// is unknown or answered.
  void refuse(call_name const& n, failure why);
  /// `why` is a failure of kind `how`, or nothing if the construction succeeded.
  void built(time_point now, stream_id stream, object_id id, std::optional<failure> why,
             object_end how = object_end::raised);
  /// Handles the answer to a call. Ignored unless `stream` belongs to the object's task.
  void answered(stream_id stream, object_id id, call_answer a);

  void tick(time_point now);
  /// Returns a time not later than the next expiry.
  time_point due() const { return due_; }

  object_limits const& limits() const { return limits_; }
  output const& pending_output() const { return out_; }
  output take_output() { return std::exchange(out_, {}); }

  object const* find(object_id id) const { return book_.find(id); }
  objects::call const* find(call_name const& n) const { return calls_.find(n); }
  object_view view(object_id id, object const& o) const;
  /// Returns the newest matching objects with ids below `before`, if it is set, without their
  /// arguments.
  std::vector<object_view> list(object_id before, std::size_t limit, object_query const& q) const;
  object_id named(std::string_view name) const { return book_.named(name); }
  object_counts counts() const;
  bool may_use(session_id s, std::string const& submitter) const;
  std::string invalid() const;

 private:
  struct opened {
    user of;
    std::map<std::uint64_t, object_id> made;
    std::map<std::uint64_t, dataset_id> datasets{};
    time_point away_since = never;
  };

  bool take(call_name const& name, call_spec const& c);
  status check(datasets::dataset_spec const& spec) const;
  void ask(dataset_id id, call_name const& name, session_id s, call_spec const& c);
  void deal(dataset const& d, dataset::answers const& dealt);
  void remove(dataset_id id);
  void queue_answer(call_answer a);
  void fail(call_name const& n, failure why);
  void fail_all(object& o, failure const& why);
  void lose(time_point now, task_name const& t, task& at, object_end how, std::string const& why);
  void trim(object& o);
  /// `forgotten` has one entry per call.
  void passed(std::vector<object_id> const& forgotten);
  void find_due();
  bool can_end(call_name const& n) const;
  /// Returns the time at which the client that owns the name disconnected. Returns `never` if the
  /// client is connected, or if the session may not take over the name.
  time_point abandoned_since(session_id s, std::string_view name) const;
  void use(session_id s, object& o);
  failure refused(session_id s, object const* o, call_spec const& c) const;

  object_limits const limits_;
  std::uint64_t const last_before_;  // ids up to this one belong to earlier server processes
  object_book book_{limits_};
  call_table calls_{limits_};
  std::map<session_id, opened> sessions_;
  std::map<std::string, session_id, std::less<>> tickets_;
  datasets::dataset_limits const dataset_limits_{};
  std::map<dataset_id, dataset> datasets_;
  std::size_t dataset_bytes_ = 0;
  std::uint64_t splits_done_before_ = 0, splits_given_back_before_ = 0;
  std::map<closure_id, std::vector<dataset_id>> drawing_;
  time_point due_ = never;
  std::array<std::uint64_t, enum_size<call_end>> ended_{};
  output out_;
};

}  // namespace muster::core::objects
