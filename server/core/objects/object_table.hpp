// Objects on tasks, and calls of them, as a value: what callers ask and what workers say goes in,
// orders and answers come out.
//
//   create, call, drop, waits ──┐                      ┌──► orders to the workers that have them
//   attached, gone, built, ─────┼──► book, calls ──────┼──► answers to callers
//   answered, tick              │                      └──► who relied on what is lost
//   session_ended ──────────────┘
//
// A call is executed at most once: it is numbered by its caller, its worker passes over what it has
// had, and nothing is sent to another incarnation of a task: what is not answered by then fails
// UNAVAILABLE. Calls of one caller reach an object in the order of their numbers.
//
// Owned by the hub; engine thread only. No clock, randomness or I/O. Limits: object_limits.
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
  /// Ids begin above `last`, which no earlier process of the server has reached.
  object_table(object_limits limits, std::uint64_t last) : limits_(limits), last_before_(last) {
    book_.begin_above(last);
  }
  object_table(object_table const&) = delete;

  /// A session that may use objects. Functions on workers that know its ticket call on its behalf.
  struct user {
    std::string ticket{};     // random, of the session's client
    std::string submitter{};  // id of a token; empty: nobody was asked
    bool all = false;         // it may use objects of others
  };
  /// Again: the session has another stream. Errors: INVALID_ARGUMENT with the field.
  status open(session_id s, user u);
  /// With the objects that it has made, but for detached ones.
  void session_ended(session_id s);
  /// Notes that the session's client has lost its connection, or is connected again.
  void session_away(time_point now, session_id s);
  void session_back(session_id s);
  /// Returns whether the name belongs to an object of a client that has lost its connection less
  /// than object_limits::name_grace ago. `create` of that name by session `s` is to wait.
  bool must_wait_for_name(time_point now, session_id s, std::string_view name) const;
  /// None: the ticket is of no open session.
  session_id holder_of(std::string_view ticket) const;

  /// Errors: as object_book::check, FAILED_PRECONDITION (not opened). `number`, of the session's
  /// calls: again, it gives the same object. An object of the same name is deleted if its client
  /// has been away for object_limits::name_grace and this session may use the object.
  result<object_id> create(time_point now, session_id s, std::uint64_t number, object_spec spec);
  /// Whether the session has made an object with this number before.
  bool has_made(session_id s, std::uint64_t number) const;
  /// Returns the attached tasks that can hold objects, those with the fewest first. Looks at all
  /// tasks.
  std::vector<task_name> holders() const;
  /// Errors: NOT_FOUND, PERMISSION_DENIED.
  result<object_id> find(session_id s, std::string_view name);
  /// Whatever is wrong with it is its answer. `s`: on whose behalf; none: of nobody.
  void call(caller_id who, session_id s, call_spec const& c);
  /// Its caller has the answer.
  void taken(caller_id who, std::uint64_t number) { calls_.taken(who, number); }
  /// Who executes `within` waits for the answer to `inner`. One that could never come, as what
  /// has to make it waits itself, is an error now. `stream` says so: others than the worker that
  /// executes it are passed over.
  void waits(stream_id stream, call_name const& within, call_name const& inner);
  /// What has not been answered is CANCELLED. Errors: NOT_FOUND, PERMISSION_DENIED.
  status drop(session_id s, object_id id);
  /// The same, whoever asks. REQUIRES: it is there.
  void remove(object_id id);

  // Datasets, which are called as objects are: see object_table_datasets.cpp.
  /// Errors: INVALID_ARGUMENT with the field, FAILED_PRECONDITION (not opened), RESOURCE_EXHAUSTED.
  /// `number`: as of create.
  result<dataset_id> create_dataset(time_point now, session_id s, std::uint64_t number,
                                    datasets::dataset_spec spec);
  /// REQUIRES: the closure is of session `of`, and executes this attempt on `worker`.
  void draw(caller_id who, session_id s, call_spec const& c, datasets::draw_request const& r,
            session_id of, std::string const& worker);
  /// The call is answered with this.
  void refuse(caller_id who, call_spec const& c, failure why);
  /// Nobody else: functions have drawn from datasets.
  bool is_drawn_from() const { return !drawing_.empty(); }
  /// A closure has ended, or begins again.
  void closure_ended(closure_id closure, bool succeeded);
  /// A closure is asked to stop: it waits for no split.
  void closure_stops(closure_id closure);
  dataset const* look(dataset_id id) const {
    auto const it = datasets_.find(id);
    return it == datasets_.end() ? nullptr : &it->second;
  }
  /// Looks at all datasets, and at none of their splits.
  datasets::dataset_totals dataset_totals() const;
  /// The newest made before `before` (none: of all) that this token, if it is any, may see.
  std::vector<datasets::dataset_view> list_datasets(dataset_id before, std::size_t limit,
                                                    std::string const& submitter) const;

  /// REQUIRES: the task's stream of before, if any, was told gone. `takes`: it can hold objects.
  void attached(time_point now, task_name const& t, core::incarnation i, stream_id stream,
                bool takes);
  /// Its objects wait for its return, unless it is `final`.
  void gone(time_point now, stream_id stream, bool final, std::string const& why);
  /// A call that was not sent to its worker, which does not take what it is sent. REQUIRES: it is
  /// known.
  void refuse(call_name const& n, failure why);
  /// An object was made, or not; `how`, where `why` is given.
  void built(time_point now, stream_id stream, object_id id, std::optional<failure> why,
             object_end how = object_end::raised);
  /// A worker's word; what it cannot speak for is passed over.
  void answered(stream_id stream, object_id id, call_answer a);

  /// Tasks that were away for too long are lost.
  void tick(time_point now);
  /// Not after the first of them is.
  time_point due() const { return due_; }

  object_limits const& limits() const { return limits_; }
  output const& said() const { return out_; }
  output take_said() { return std::exchange(out_, {}); }

  object const* look(object_id id) const { return book_.find(id); }
  objects::call const* look(call_name const& n) const { return calls_.find(n); }
  object_view view(object_id id, object const& o) const;
  /// The newest of these that were made before `before` (none: of all), without what they were made
  /// with.
  std::vector<object_view> list(object_id before, std::size_t limit, object_query const& q) const;
  /// None: nobody has the name.
  object_id named(std::string_view name) const { return book_.named(name); }
  /// Looks at all of them.
  object_counts counts() const;
  /// Whether a session may use what `owner` has submitted.
  bool may_use(session_id s, std::string const& submitter) const;
  /// Empty when all is in order.
  std::string invalid() const;

 private:
  struct opened {
    user of;
    std::map<std::uint64_t, object_id> made;  // by the session's number
    std::map<std::uint64_t, dataset_id> datasets{};
    time_point away_since = never;  // without a connection
  };

  /// It is to be executed; else it was answered, if that is due.
  bool take(call_name const& name, call_spec const& c);
  status check(datasets::dataset_spec const& spec) const;
  void ask(dataset_id id, call_name const& name, session_id s, call_spec const& c);
  void deal(dataset const& d, dataset::answers const& dealt);
  void remove(dataset_id id);
  void say(call_answer a);
  void fail(call_name const& n, failure why);
  void fail_all(object& o, failure const& why);
  void lose(time_point now, task_name const& t, task& at, object_end how, std::string const& why);
  void trim(object& o);
  /// Calls of these were forgotten, one for each: their names do not stay where they waited.
  void passed(std::vector<object_id> const& forgotten);
  void find_due();
  bool can_end(call_name const& n) const;
  /// Since when the client is away whose object has this name; `never`: it is not, or the session
  /// may not take the name from it.
  time_point abandoned_since(session_id s, std::string_view name) const;
  void use(session_id s, object& o);
  failure refused(session_id s, object const* o, call_spec const& c) const;

  object_limits const limits_;
  std::uint64_t const last_before_;  // ids up to it are of earlier processes
  object_book book_{limits_};
  call_table calls_{limits_};
  std::map<session_id, opened> sessions_;
  std::map<std::string, session_id, std::less<>> tickets_;
  datasets::dataset_limits const dataset_limits_{};
  std::map<dataset_id, dataset> datasets_;
  std::size_t dataset_bytes_ = 0;
  std::uint64_t splits_done_before_ = 0, splits_given_back_before_ = 0;  // of those that are gone
  std::map<closure_id, std::vector<dataset_id>> drawing_;  // that have drawn, by closures
  time_point due_ = never;
  std::array<std::uint64_t, enum_size<call_end>> ended_{};  // calls, by how
  output out_;
};

}  // namespace muster::core::objects
