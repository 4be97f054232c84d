// The only owner of the core: performs events, carries their effects to whom they concern, and
// keeps the one timer that the core asks for. Lives on the engine thread; everything here is called
// there, except where a comment says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"
#include "server/history/machines/machines.hpp"
#include "server/history/programs/black_box.hpp"
#include "server/hub/hub_dependencies.hpp"
#include "server/hub/log_store.hpp"
#include "server/hub/object_hub.hpp"
#include "server/hub/programs/last_lines.hpp"
#include "server/hub/programs/program_doctor.hpp"
#include "server/hub/programs/rank_logs.hpp"
#include "server/hub/programs/rank_stacks.hpp"
#include "server/hub/programs/rank_steps.hpp"
#include "server/hub/reply_table.hpp"
#include "server/hub/session_batches.hpp"
#include "server/hub/task_stack.hpp"

namespace muster::server {

/// Receives what the core has for one attached worker. Calls come from inside hub::apply; they must
/// only note down and signal, never call the hub back.
class worker_sink {
 public:
  virtual ~worker_sink() = default;
  virtual void on_welcome(core::welcome const& w) = 0;
  virtual void on_dispatch(std::span<core::assignment const> batch) = 0;
  virtual void on_stop(core::stop_request const& s) = 0;
  virtual void on_retract(core::retract_request const& r) = 0;
  virtual void on_drop(core::per_worker_id value) = 0;
  virtual void on_drain() = 0;
  /// Of workers that offer to run ranks.
  virtual void on_rank_orders(core::rank_orders const&) {}
  virtual void on_log_query(rank_log_query const&) {}
  virtual void on_lines_query(last_lines_query const&) {}
  virtual void on_stacks_query(stacks_query const&) {}
  virtual void on_hold_steps(doctor::hold_steps const&) {}
  virtual void on_stop_after(doctor::stop_after const&) {}
  virtual void on_vitals_query(vitals_query const&) {}
  /// Of any worker; one that is older does not answer.
  virtual void on_stack_query(std::uint64_t /*number*/) {}
  /// Of workers that offer to hold objects, or whose functions call them: see object_hub.
  virtual void on_objects_begin(core::objects::begin_order const&) {}
  virtual void on_build(core::object_id, core::objects::object_spec const&) {}
  virtual void on_call(core::objects::call_order const&, std::string const& /*method*/,
                       core::blob const& /*args*/) {}
  virtual void on_drop_object(core::object_id) {}
  /// That wait for the worker to read.
  virtual std::size_t bytes_to_send() const { return 0; }
  virtual void on_object_answer(core::objects::call_answer const&) {}
  /// Last call; the hub has forgotten the sink.
  virtual void on_disconnect(muster::status const& why, bool final) = 0;
};

/// Receives the outcomes of one streaming session. Same rule.
class session_sink {
 public:
  virtual ~session_sink() = default;
  virtual void on_outcome(core::outcome const& o) = 0;
  virtual void on_notice(core::session_notice const& n) = 0;
  virtual void on_object_answer(core::objects::call_answer const&) {}
  /// Last call: another sink serves the session now.
  virtual void on_taken_over() = 0;
  /// Last call: the session is gone with its cluster.
  virtual void on_gone(muster::status const& why) = 0;
  /// The disk has failed, so what the session is told may be lost: nothing more comes, and the
  /// stream is to end, later.
  virtual void on_lost(muster::status const& why) = 0;
};

class hub {
 public:
  /// Why streams of workers end then: no loss of theirs.
  static constexpr char const* shuts_down = "the server is shutting down";

  hub(core::config config, hub_dependencies dependencies, log_limits limits = {});

  /// Performs an event (a struct of core/api/model.hpp) and delivers its effects before returning.
  template <class Event>
  void apply(Event&& e) {
    session_batches::sessions from;
    if constexpr (requires { inputs_of(e); }) from = inputs_of(e);
    std::vector<core::rank_end> ended;
    if constexpr (std::is_same_v<std::remove_cvref_t<Event>, core::rank_reports>) fold(e);
    if constexpr (std::is_same_v<std::remove_cvref_t<Event>, core::worker_attached>)
      ended = ends_in(e);
    auto const now = dependencies_.now();
    auto const& fx = core_.step(now, e);
    past_.fold(fx, now);
    if constexpr (requires { inputs_of(e); })
      if (!from.empty())
        if (auto const to = taker(e, fx); core_.has(to)) batches_.takes(to, from);
    if constexpr (std::is_same_v<std::remove_cvref_t<Event>, core::worker_disconnected>)
      tell_gone(e.stream, e.clean, e.reason);
    auto news = objects_.news_of(fx);
    auto const of_steps = rank_steps_.news_of(fx);
    if constexpr (std::is_same_v<std::remove_cvref_t<Event>, core::worker_disconnected>)
      news.gone.push_back({e.stream, e.clean || !e.may_return, e.reason});
    deliver(fx);
    objects_.follow(news);
    rank_steps_.follow(of_steps);
    if constexpr (std::is_same_v<std::remove_cvref_t<Event>, core::worker_attached>)
      fold(e.stream, ended);
    write_records();
  }

  /// Performs an event that carries a `call`: the hub mints the id, `done` gets the reply exactly
  /// once, on the engine thread, possibly before `ask` returns. Returns the id, for `forget`.
  using reply_handler = reply_table<core::reply, core::session_id>::handler;
  template <class Event>
  core::call_id ask(Event e, reply_handler done) {
    e.call = calls_.expect(std::move(done), about(e));
    auto const call = e.call;
    if (auto refused = refusal(e); refused.ok())
      apply(e);
    else
      calls_.deliver({core::reply{call, std::move(refused), {}}});
    return call;
  }
  /// The same for an event that the core answers in its step: nothing that waits for something.
  /// The answer may rest on what is not durable yet: see in_order.
  template <class Event>
  core::reply ask_now(Event e) {
    core::reply answer;
    if (auto refused = refusal(e); !refused.ok()) {
      answer.status = std::move(refused);
      return answer;
    }
    prompt_ = e.call = calls_.expect([&answer](core::reply const& r) { answer = r; });
    apply(e);
    prompt_ = {};
    return answer;
  }
  /// Numbers for function names, at once. Errors: INVALID_ARGUMENT (empty, too long, control
  /// characters), RESOURCE_EXHAUSTED (too many names); then `ids` ends before the name it is about.
  struct learned {
    muster::status status;
    std::vector<core::function_id> ids;
  };
  learned learn(std::vector<std::string> names);
  /// The caller went away: its handler is dropped and never called.
  void forget(core::call_id call) {
    if (calls_.forget(call)) apply(core::call_gone{call});
  }

  core::stream_id attach(worker_sink& sink);  // mint an id for a worker's stream
  /// The sink is going; no more calls to it.
  void detach(core::stream_id stream) {
    workers_.erase(stream);
    forget_questions(stream);
  }
  void attach(core::session_id session, session_sink& sink);  // instead of the one it has
  void detach(core::session_id session) { sessions_.erase(session); }
  /// Calls it when all that was said of a durable session so far may be told: at once for others.
  /// Never, but the sink's on_lost, once the disk has failed.
  void in_order(core::session_id session, std::function<void()> tell);
  /// The last batch of the journal so far; 0 where there is none.
  std::uint64_t written() const {
    return dependencies_.commits ? dependencies_.commits->written() : 0;
  }
  /// Calls it when the disk has this batch and those before: at once where there is none, and when
  /// it has failed, as nothing that waits for it could go on.
  void when_durable(std::uint64_t batch, std::function<void()> then);
  /// Calls it when what its caller knows of it now may be told, or never may.
  void when_told(core::session_id s, commit_queue::told t);
  void when_told(core::closure_id c, commit_queue::told t);
  void when_told(core::per_worker_id v, commit_queue::told t);
  void when_told(core::program_id p, commit_queue::told t);
  /// Nothing of the session may come in now, as too much waits for the disk. Looked at again after
  /// a while: nobody tells when it is over.
  bool must_wait(core::session_id session) const;

  /// What a worker says of a closure: kept when its stream holds this attempt, else counted.
  void report(core::stream_id stream, log_line line);
  void report(core::stream_id stream, core::closure_id closure, closure_progress progress);
  /// Which blobs programs that go on name as their upload, 64 digits each; tells the core of those
  /// that have come or gone, as `is_there` says.
  std::vector<std::string> look_for_uploads(
      std::function<bool(std::string const&)> const& is_there);
  /// Asks the worker of a rank for what it has printed; `done` is called once. Errors: NOT_FOUND,
  /// nobody knows the rank; UNAVAILABLE, its worker is away; RESOURCE_EXHAUSTED.
  void read_log(rank_log_query query, rank_logs::handler done);
  void answered(core::stream_id stream, std::uint64_t query, muster::result<rank_log> log) {
    rank_logs_.answered(stream, query, std::move(log));
  }
  /// Has the last lines of the ranks of the last attempt asked for, see last_lines::look.
  void look_at_lines(last_lines::attempt_asked const& of, std::function<void()> done = {});
  void answered(core::stream_id stream, last_lines_answer answer) {
    last_lines_.answered(stream, std::move(answer));
  }
  last_lines const& lines() const { return last_lines_; }
  /// In which lines the process of a worker is, "worker:3"; `done` is called once, unless nobody
  /// answers. The number is for `forget_stack`. Errors: NOT_FOUND, RESOURCE_EXHAUSTED, UNAVAILABLE.
  std::uint64_t read_stack(std::string_view task, worker_questions<task_stack>::handler done);
  void forget_stack(std::uint64_t question) { stack_questions_.forget(question); }
  void answered_stack(core::stream_id stream, std::uint64_t query,
                      muster::result<task_stack> stack) {
    stack_questions_.answered(stream, query, std::move(stack));
  }
  /// Where ranks are just now.
  rank_stacks& stacks() { return rank_stacks_; }
  program_doctor& doctor() { return doctor_; }
  /// What is seen of the coordination cluster of the program; `tasks`: the rank of each of its own.
  void look_at_cluster(core::program_id program, std::vector<std::uint32_t> const& tasks,
                       doctor::look& into) const;
  /// A worker says where ranks were that it has killed.
  void killed(core::stream_id stream, history::black_box::name const& which,
              std::vector<core::attempt_record::stack> where);
  /// Of the coordination cluster of an attempt.
  void note(history::black_box::name const& which, core::attempt_record::event what);
  /// What is known of attempts; of their barriers, while no later one has begun.
  history::black_box const& records() const { return records_; }
  program_clusters::lateness lateness_of(core::program_id program, std::uint32_t attempt) const;
  /// The last attempt of the program has a coordination cluster.
  bool coordinates(core::program_id program, std::uint32_t attempt) const {
    return dependencies_.coordination && dependencies_.coordination->serves(program, attempt);
  }
  /// Empty: the program has none.
  std::string coordination_cluster(core::program_id program) const {
    return dependencies_.coordination ? dependencies_.coordination->of(program) : std::string();
  }
  /// For a tunnel of the worker that knows the key: the cluster of the attempt. Errors:
  /// PERMISSION_DENIED, no rank of it is alive there; NOT_FOUND, it has none.
  muster::result<std::string> cluster_of(core::program_id program, std::uint32_t attempt,
                                         std::string_view tunnel_key) const;
  /// Which steps ranks have reached.
  rank_steps& steps() { return rank_steps_; }
  rank_steps const& steps() const { return rank_steps_; }
  /// What workers, and in the main cluster the server, see of their machines.
  history::machines& machines() { return machines_; }
  history::machines const& machines() const { return machines_; }
  void report(core::stream_id stream, machine seen);
  log_store& logs() { return logs_; }
  log_store const& logs() const { return logs_; }

  /// Durable jobs of an earlier process. Before anything is scheduled.
  void restore(std::vector<core::restored_job> jobs);
  void restore(std::vector<core::programs::restored_program> programs);
  /// Behind its program. False: there is no such attempt.
  bool restore(history::black_box::name const& which, core::attempt_record what);
  void on_deadline();
  /// Everything ends, with this reason; afterwards nobody may come.
  void close(std::string const& why);
  std::string const& cluster() const { return dependencies_.cluster; }

  core::coordinator const& state() const { return core_; }
  history::history& past() { return past_; }
  history::history const& past() const { return past_; }
  object_hub& objects() { return objects_; }
  object_hub const& objects() const { return objects_; }
  /// For the log and the event feed.
  void pass_on(history::log_event const& e);
  void log(core::coordination::severity s, std::string kind, std::string about, std::string text);
  /// What `objects` waits for has changed.
  void follow_deadlines();
  /// Null: the worker, or the client, is away.
  worker_sink* sink_of(core::stream_id stream) const;
  session_sink* sink_of(core::session_id session) const;
  core::time_point now() const { return dependencies_.now(); }

 private:
  void deliver(core::effects const& fx);
  void answer(core::effects const& fx);
  void write_down(std::vector<core::fact> const& facts);
  /// Orders about ranks, each behind what the step and those before have changed.
  void deliver_orders(core::effects const& fx);
  // Records of attempts.
  void fold_attempts(core::effects const& fx);
  void fold(core::rank_reports const& r);
  void fold(core::stream_id stream, std::vector<core::rank_end> const& ended);
  static std::vector<core::rank_end> ends_in(core::worker_attached const& e);
  void write_records();
  /// Returns why nothing durable can be accepted now. OK: it can, or the event is about nothing
  /// durable.
  template <class Event>
  muster::status refusal(Event const& e) const {
    if constexpr (std::is_same_v<Event, core::open_session> ||
                  std::is_same_v<Event, core::submit_program>)
      return creates_durable(e) ? journal_refusal() : muster::status{};
    else if constexpr (std::is_same_v<Event, core::schedule> ||
                       std::is_same_v<Event, core::retry_job> ||
                       std::is_same_v<Event, core::create_per_worker>)
      return is_durable(e) ? journal_refusal() : muster::status{};
    else if constexpr (std::is_same_v<Event, core::resume_session>)
      return is_durable(e) ? dependencies_.commits->failed() : muster::status{};
    else
      return {};
  }
  /// Returns whether the event creates something durable. One that repeats an idempotency key
  /// creates nothing.
  bool creates_durable(core::open_session const& e) const;
  bool creates_durable(core::submit_program const& e) const;
  template <class Event>
  bool is_durable(Event const& e) const {
    if constexpr (std::is_same_v<Event, core::create_per_worker>)
      return e.owner == core::session_id{} ? core_.configuration().durable
                                           : core_.is_durable(e.owner);
    else
      return core_.is_durable(e.session);
  }
  muster::status journal_refusal() const;

  /// The session that a call is about; none: that is not known before it is answered, or at all.
  template <class Event>
  core::session_id about(Event const& e) const {
    if (batches_.none() || std::is_same_v<Event, core::retry_job>) return {};
    if constexpr (requires { e.session; })
      return e.session;
    else if constexpr (requires { e.closure; })
      return core_.session_of(e.closure);
    else
      return {};
  }
  /// Of other sessions, whose values the event's closures take.
  session_batches::sessions inputs_of(core::schedule const& e) const {
    return batches_.inputs(core_, e.closures, e.session);
  }
  session_batches::sessions inputs_of(core::open_session const& e) const {
    return batches_.inputs(core_, e.closures, {});
  }
  session_batches::sessions inputs_of(core::retry_job const& e) const {
    return batches_.inputs(e.session);
  }
  static core::session_id taker(core::schedule const& e, core::effects const&) { return e.session; }
  static core::session_id taker(core::open_session const&, core::effects const& fx) {
    return opened_by(fx);
  }
  static core::session_id taker(core::retry_job const&, core::effects const& fx) {
    return opened_by(fx);
  }
  static core::session_id opened_by(core::effects const& fx);
  /// What streams are told, in this order: an error before what it cancelled, an end after what has
  /// ended.
  struct to_sessions {
    std::vector<core::session_notice> failures;
    std::vector<core::outcome> outcomes;
    std::vector<core::session_notice> ends;

    bool empty() const { return failures.empty() && outcomes.empty() && ends.empty(); }
  };
  void deliver_outcomes(std::vector<core::outcome> const& outcomes, to_sessions* later);
  void deliver_notices(std::vector<core::session_notice> const& notices, bool failed,
                       to_sessions* later);
  /// Calls it behind what is written, unless the hub has gone by then.
  template <class Then>
  void hold(bool changed, Then then) {
    auto told = [alive = std::weak_ptr(alive_), then = std::move(then)](auto const& lost) mutable {
      if (!alive.expired()) then(lost);
    };
    dependencies_.commits->hold(changed, std::move(told));
  }
  void tell(to_sessions const& all, muster::status const& lost);
  void tell_attached(core::welcome const& w);
  void tell_gone(core::stream_id stream, bool clean, std::string const& reason);
  /// The worker is gone: nobody waits for its answers about ranks.
  void forget_questions(core::stream_id stream);

  hub_dependencies dependencies_;
  std::unique_ptr<core::server_wide> own_wide_;  // of one that is alone
  core::coordinator core_;
  history::history past_;
  log_store logs_;
  rank_logs rank_logs_{"logs"};
  worker_questions<task_stack> stack_questions_{"stacks"};
  last_lines last_lines_;
  rank_stacks rank_stacks_;
  program_doctor doctor_{*this};
  history::black_box records_;
  history::machines machines_;
  std::unordered_map<core::stream_id, worker_sink*> workers_;
  std::unordered_map<core::stream_id, std::string> names_;  // of the attached workers, to tell of
  struct served_session {
    session_sink* sink = nullptr;
    bool durable = false;      // what it is told waits for the disk
    std::uint64_t behind = 0;  // the batch that the last of what it is to be told waits for
  };
  /// What it is told does, or rests on what does, or on what else it is told before.
  bool waits(core::session_id id, served_session const& s) const {
    return s.durable || !dependencies_.commits->is_past(s.behind) || !batches_.is_written(id);
  }
  std::unordered_map<core::session_id, served_session> sessions_;
  session_batches batches_{dependencies_.commits};
  reply_table<core::reply, core::session_id> calls_;
  deadline_alarm alarm_;
  object_hub objects_{*this};
  rank_steps rank_steps_{*this};
  std::uint64_t last_stream_ = 0;
  core::call_id prompt_{};                                      // of ask_now
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // known to who waits in the queue
};

}  // namespace muster::server
