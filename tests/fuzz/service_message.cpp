// Fuzzes Protobuf messages of workers and clients: bytes to messages, their converters in
// server/rpc, and the hub with the core. The streams of server/rpc need a gRPC call. This program
// therefore calls the converters and the hub in the same order (worker_connection::take,
// session_stream::take, coordinator_calls).
//
// The input is a sequence of messages. Each consists of a byte for its kind, its size in two bytes,
// low byte first, and its bytes. The last message can be shorter than its size. See `kind`.
//
// Checked properties:
// - A refusal names its field.
// - A converted message satisfies the limits of the protocol.
// - After each message, the invariants of the core, its history and its objects hold.
// - Each worker gets only functions that it provides. Each message of the server is a valid message
//   whose columns have the same length.
// - Each call is answered exactly once, at the latest when the hub closes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "muster/v1/objects.pb.h"
#include "muster/v1/worker.pb.h"
#include "proto/outbox.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/hub/hub.hpp"
#include "server/hub/id_parsing.hpp"
#include "server/hub/submission.hpp"
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/object_convert.hpp"
#include "server/rpc/sessions/schedule_convert.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/workers/machine_convert.hpp"
#include "server/rpc/workers/rank_convert.hpp"
#include "server/rpc/workers/worker_convert.hpp"
#include "server/rpc/workers/worker_hello.hpp"
#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/require.hpp"

namespace muster::server {
namespace {

using fuzz::require;

constexpr core::time_point start{std::chrono::seconds(1'700'000'000)};
constexpr std::uint32_t no_number = ~std::uint32_t{0};
constexpr std::size_t workers_max = 3, sessions_max = 2;

enum class kind : std::uint8_t {
  worker_message,       // of workers 0 to 2
  session_request = 3,  // of sessions 0 and 1
  open_session = 5,     // requests of CoordinatorService
  schedule,
  create_per_worker_value,
  join,
  fetch,
  cancel,
  release,
  release_per_worker_value,
  close_session,
  worker_lost,   // number of the worker; 1 if it left in order
  session_lost,  // number of the session; 1 if the client half-closed the stream
  time,          // time in powers of two
  end
};

// Returns a refusal by a converter as a status, or OK for an empty text.
muster::status as_status(std::string const& problem) {
  require(problem.empty() || problem.find(':') != std::string::npos, "a refusal names its field");
  return problem.empty() ? muster::status() : invalid(problem);
}

template <class Message>
void check_message(Message const& m) {
  Message again;
  require(again.ParseFromString(m.SerializeAsString()), "a message of the server can be parsed");
}

// The server's side of a worker's stream; see worker_connection.
class fuzzed_worker final : public worker_sink {
 public:
  explicit fuzzed_worker(hub& h) : hub_(h) {}

  bool is_over() const { return over_; }

  void receive(v1::WorkerMessage const& m) {
    if (auto const problem = take(m); !problem.ok())
      leave(false, "protocol error: " + problem.message);
    send();
  }
  void lose(bool in_order) {
    in_order ? leave(true, "left") : leave(false, "connection lost", !leave_asked_);
  }

  void on_welcome(core::welcome const& w) override {
    job_ = w.job;
    index_ = w.index;
    task_ = std::make_shared<std::string const>(w.job + ":" + std::to_string(w.index));
    require(w.credits > 0, "a worker has credits");
  }
  void on_dispatch(std::span<core::assignment const> batch) override {
    for (auto const& a : batch) {
      auto const f = core::raw(a.function);
      require(f < numbers_.size() && numbers_[f] != no_number, "a worker provides the function");
      to_wire(a, numbers_[f], inputs_beside_bytes_, out_);
    }
  }
  void on_stop(core::stop_request const& s) override {
    out_.tail().add_stop_closure(core::raw(s.closure));
    out_.tail().add_stop_attempt(s.attempt);
  }
  void on_retract(core::retract_request const& r) override {
    out_.tail().add_recall_closure(core::raw(r.closure));
    out_.tail().add_recall_attempt(r.attempt);
  }
  void on_drop(core::per_worker_id value) override {
    out_.tail().add_drop_per_worker(core::raw(value));
  }
  void on_drain() override { out_.tail().set_drain(true); }
  void on_disconnect(muster::status const& why, bool) override {
    require(!why.ok() && !why.message.empty(), "a worker learns why it is disconnected");
    attached_ = false;
    over_ = true;
  }
  void on_rank_orders(core::rank_orders const& o) override {
    require(takes_ranks_, "only a worker that offers to run programs gets orders");
    to_wire(o, *out_.tail().mutable_ranks());
  }
  void on_stacks_query(stacks_query const& q) override {
    to_wire(q, *out_.tail().mutable_ranks()->add_stacks());
  }
  void on_vitals_query(vitals_query const& q) override {
    to_wire(q, *out_.tail().mutable_ranks()->add_vitals());
  }
  void on_hold_steps(doctor::hold_steps const& order) override {
    to_wire(order, *out_.tail().mutable_ranks()->add_hold_steps());
  }
  void on_stop_after(doctor::stop_after const& order) override {
    to_wire(order, *out_.tail().mutable_ranks()->add_stop_after_step());
  }
  void on_build(core::object_id id, core::objects::object_spec const& spec) override {
    to_wire(id, spec, *out_.tail().mutable_objects()->add_build());
  }
  void on_call(core::objects::call_order const& o, std::string const& method,
               core::blob const& args) override {
    to_wire(o, method, args, *out_.tail().mutable_objects());
  }
  void on_drop_object(core::object_id id) override {
    out_.tail().mutable_objects()->add_drop(core::raw(id));
  }
  void on_object_answer(core::objects::call_answer const& a) override {
    to_wire(a, *out_.tail().mutable_object_answers());
  }

  // Checks the messages for the worker, and removes them.
  void send() {
    while (!out_.empty()) {
      auto const part = out_.take_front();
      auto const& m = part->message;
      check_message(m);
      int const n = m.closure_size();
      require(m.attempt_size() == n && m.function_size() == n && m.args_size() == n,
              "the columns of assignments have the same length");
      require(m.encoding_size() == 0 || m.encoding_size() == n, "a column is complete or empty");
    }
  }

 private:
  muster::status take(v1::WorkerMessage const& m) {
    if (!greeted_) {
      if (!m.has_hello()) return invalid("hello: must be the first message");
      if (auto problem = take_hello(m.hello()); !problem.ok()) return problem;
    } else if (m.has_hello()) {
      return invalid("hello: must be sent only once");
    }
    if (attached_)
      if (auto const problem = as_status(take_reports(m, stream_, task_, hub_)); !problem.ok())
        return problem;
    if (auto problem = take_results(m); !problem.ok()) return problem;
    if (auto problem = take_ranks(m); !problem.ok()) return problem;
    if (auto problem = take_objects(m); !problem.ok()) return problem;
    for (auto const& s : m.stack())
      if (attached_) hub_.workers().task_stacks().deliver(stream_, s.query(), from_wire(s));
    if (m.has_machine() && attached_) {
      auto seen = from_wire(m.machine());
      if (!seen) return seen.error();
      require(seen->gpus.size() <= machine::gpus_max, "the number of GPUs is limited");
      hub_.report(stream_, std::move(*seen));
    }
    if (m.drain() && attached_) {
      leave_asked_ = true;
      hub_.apply(core::worker_drain{stream_, true});
    }
    if (m.has_process_end() && attached_) {
      auto const& e = m.process_end();
      if (e.how().size() > 512) return invalid("process_end.how: too long");
      leave(false, e.how(), false, core::held_closure{core::closure_id{e.closure()}, e.attempt()});
    }
    return {};
  }

  void check_spec(core::worker_spec const& s) const {
    auto const& limits = hub_.state().configuration();
    require(!s.job.empty() && s.job.size() <= 64, "the name of a job is limited");
    require(s.slots >= 1 && s.slots <= s.credits && s.credits <= limits.credits_max,
            "the slots and credits of a worker are limited");
    require(s.functions.size() <= limits.functions_per_worker_max, "functions are limited");
    require(s.labels.size() <= 64 && s.resources.size() <= 64, "labels are limited");
    require(s.incarnation != core::incarnation{}, "a worker has an incarnation");
    require(s.group == 0 || s.group_position < s.group_size, "a position is within its group");
  }

  muster::status take_hello(v1::Hello const& hello) {
    auto spec = from_wire(hello, hub_.state().configuration());
    if (!spec) return spec.error();
    check_spec(*spec);
    auto held = held_from_wire(hello);
    if (!held) return held.error();
    auto answers = answers_from_wire(hello);
    if (!answers) return answers.error();
    auto offer = offer_from_wire(hello);
    if (!offer) return offer.error();
    auto const [wrong, ids] = hub_.learn(spec->functions);
    if (!wrong.ok()) return wrong;
    for (std::uint32_t i = 0; i < ids.size(); ++i) {
      auto const at = core::raw(ids[i]);
      if (at >= numbers_.size()) numbers_.resize(at + 1, no_number);
      numbers_[at] = i;
    }
    greeted_ = attached_ = true;
    stream_ = hub_.attach(*this);
    inputs_beside_bytes_ = hello.inputs_beside_bytes();
    takes_ranks_ = offer->has_value();
    takes_objects_ = hello.objects();
    incarnation_ = spec->incarnation;
    core::worker_attached event{stream_, std::move(*spec), std::move(*held), std::move(*answers),
                                std::move(*offer)};
    hub_.apply(event);
    if (attached_ && index_ >= 0)
      hub_.objects().attached(stream_, {job_, index_}, incarnation_, takes_objects_);
    if (attached_ && takes_ranks_) hub_.programs().steps().resume_worker(stream_);
    return {};
  }

  muster::status take_results(v1::WorkerMessage const& m) {
    if (!attached_) return {};
    core::worker_results results{stream_, {}, {}, {}, {}};
    if (auto problem = as_status(from_wire(m, results)); !problem.ok()) return problem;
    for (auto const& r : results.results)
      require(r.ok || (r.failure && r.value.size() == 0), "a failure has no value");
    auto const entries = results.results.size() + results.returned.size() + results.started.size() +
                         results.waits.size();
    if (entries == 0)
      hub_.apply(core::worker_alive{stream_});
    else
      hub_.apply(results);
    return {};
  }

  muster::status take_ranks(v1::WorkerMessage const& m) {
    if (!m.has_ranks() || !attached_) return {};
    if (!takes_ranks_) return invalid("ranks: the hello message did not offer to run programs");
    core::rank_reports reports{stream_, {}, {}, 0};
    if (auto problem = as_status(from_wire(m.ranks(), reports)); !problem.ok()) return problem;
    std::vector<doctor::step_table::report> steps;
    if (auto problem = as_status(from_wire(m.ranks().steps(), steps)); !problem.ok())
      return problem;
    auto& programs = hub_.programs();
    auto& workers = hub_.workers();
    for (auto const& s : m.ranks().last_stacks()) {
      auto killed = from_wire(s);
      programs.record_stacks(stream_, {killed.program, killed.attempt}, std::move(killed.where));
    }
    hub_.apply(reports);
    for (auto& report : steps) programs.steps().record(stream_, std::move(report));
    if (!reports.ended.empty()) programs.steps().record_ends(reports);
    for (auto const& held : m.ranks().held_steps())
      programs.steps().deliver(stream_, from_wire(held));
    for (auto log : m.ranks().log()) {
      auto const query = log.query();
      workers.logs().deliver(stream_, query, from_wire(std::move(log)));
    }
    for (auto const& lines : m.ranks().last_lines())
      workers.lines().deliver(stream_, from_wire(lines));
    for (auto const& all : m.ranks().vitals()) programs.doctor().deliver(stream_, from_wire(all));
    for (auto const& all : m.ranks().stacks()) workers.stacks().deliver(stream_, from_wire(all));
    return {};
  }

  muster::status take_objects(v1::WorkerMessage const& m) {
    if (!attached_ || (!m.has_objects() && m.object_requests_size() == 0)) return {};
    if (!takes_objects_) return invalid("objects: the hello message did not offer to hold objects");
    if (m.has_objects())
      if (auto problem = take_object_reports(m.objects()); !problem.ok()) return problem;
    for (auto const& r : m.object_requests()) {
      if (r.create_size() + r.find_size() + r.drop_size() + r.create_dataset_size() > 0)
        return invalid("object_requests: only sessions can create objects");
      std::vector<core::objects::call_spec> calls;
      if (auto problem = as_status(from_wire(r, calls)); !problem.ok()) return problem;
      hub_.objects().call(incarnation_, r.ticket(), calls, {r.taken().begin(), r.taken().end()});
      for (auto const& w : r.wait())
        hub_.objects().waits(stream_, {{w.within_caller(), w.within_worker()}, w.within_number()},
                             {core::objects::caller_of(incarnation_), w.number()});
    }
    return {};
  }

  muster::status take_object_reports(v1::ObjectReports const& r) {
    for (auto const id : r.built())
      hub_.objects().built(stream_, core::object_id{id}, std::nullopt);
    for (auto const& f : r.failed()) {
      core::failure why;
      if (auto const bad = from_wire(f.failure(), why); !bad.empty())
        return invalid("objects.failed: " + bad);
      if (why.message.empty()) why.message = "it could not be created";
      hub_.objects().built(stream_, core::object_id{f.object()}, std::move(why));
    }
    std::vector<object_hub::report> answers;
    if (auto problem = as_status(from_wire(r, answers)); !problem.ok()) return problem;
    hub_.objects().reports(stream_, std::move(answers));
    return {};
  }

  void leave(bool clean, std::string reason, bool may_return = false,
             std::optional<core::held_closure> process_ended = {}) {
    over_ = true;
    if (!std::exchange(attached_, false)) return;
    hub_.detach(stream_);
    hub_.apply(
        core::worker_disconnected{stream_, clean, std::move(reason), may_return, process_ended});
  }

  hub& hub_;
  proto::outbox<v1::ServerMessage> out_;
  core::stream_id stream_{};
  std::shared_ptr<std::string const> task_ = std::make_shared<std::string const>();
  std::vector<std::uint32_t> numbers_;  // function numbers of this stream, by function_id
  std::string job_;
  std::int64_t index_ = -1;
  core::incarnation incarnation_{};
  bool greeted_ = false;
  bool attached_ = false;
  bool over_ = false;
  bool leave_asked_ = false;
  bool inputs_beside_bytes_ = false;
  bool takes_ranks_ = false;
  bool takes_objects_ = false;
};

// The server's side of a session's stream; see session_stream.
class fuzzed_session final : public session_sink {
 public:
  explicit fuzzed_session(hub& h) : hub_(h) {}

  bool is_over() const { return over_; }

  void receive(v1::SessionRequest const& m) {
    // A stream is not read while the queue of its session is full.
    if (open_ && !hub_.state().has_room(session_)) return;
    if (auto const problem = take(m); !problem.ok()) {
      forget_ = true;
      leave();
    }
  }
  void lose(bool half_closed) {
    if (open_ && half_closed && !resumable_)
      hub_.apply(core::seal_session{{}, session_});
    else
      leave();
  }

  void on_outcome(core::outcome const& o) override {
    require(o.session == session_, "an outcome reaches its own session");
    require(o.ok || o.failure, "an outcome has a value or a failure");
    v1::SessionResponse m;
    m.add_token(o.token);
    if (!o.ok) to_wire(*o.failure, *m.add_failure());
    check_message(m);
  }
  void on_notice(core::session_notification const& n) override {
    require(n.session == session_, "a notice reaches its own session");
    v1::SessionResponse m;
    to_wire(n.failure, *m.add_failure());
    check_message(m);
  }
  void on_object_answer(core::objects::call_answer const& a) override {
    v1::SessionResponse m;
    to_wire(a, *m.mutable_objects());
    check_message(m);
  }
  void on_replaced() override { open_ = false, over_ = true; }
  void on_removed(muster::status const&) override { open_ = false, over_ = true; }
  void on_journal_failure(muster::status const&) override {
    require(false, "there is no journal that can fail");
  }

 private:
  muster::status take(v1::SessionRequest const& m) {
    if (!open_) {
      if (!m.has_open()) return invalid("open: must be the first message");
      if (auto problem = take_open(m.open()); !problem.ok()) return problem;
    } else if (m.has_open()) {
      return invalid("open: must be sent only once");
    }
    if (m.function_name_size() > 0) {
      auto const [wrong, ids] = hub_.learn({m.function_name().begin(), m.function_name().end()});
      if (!wrong.ok()) return wrong;
      functions_.insert(functions_.end(), ids.begin(), ids.end());
    }
    if (auto problem = take_per_worker(m); !problem.ok()) return problem;
    if (auto problem = take_closures(m); !problem.ok()) return problem;
    if (m.has_objects())
      if (auto problem = take_objects(m.objects()); !problem.ok()) return problem;
    take_requests(m);
    return {};
  }

  muster::status take_open(v1::Open const& open) {
    auto const problem = open.resume().empty() ? open_new(open) : resume(open);
    if (!problem.ok()) return problem;
    auto const view = hub_.state().sessions().find(session_);
    require(view.has_value(), "an open session is known");
    check_message(to_wire(*view, open, hub_.state().configuration()));
    open_ = true;
    resumable_ = view->resumable;
    return {};
  }

  muster::status open_new(v1::Open const& open) {
    auto spec = from_wire(open);
    if (!spec) return spec.error();
    require(spec->name.size() <= 256 && spec->weight >= 1, "a converted session is limited");
    core::open_session event;
    event.spec = std::move(*spec);
    event.client = "ipv4:127.0.0.1:4711";
    auto const answer = hub_.ask_now(std::move(event));
    if (!answer.status.ok()) return answer.status;
    session_ = std::get<core::session_reply>(answer.body).session;
    hub_.attach(session_, *this);
    return {};
  }

  muster::status resume(v1::Open const& open) {
    auto const session = parse_job(open.resume());
    if (!session || *session == core::session_id{}) return invalid("open.resume: no session id");
    core::resume_session event{{},
                               *session,
                               {open.resume_token().begin(), open.resume_token().end()},
                               {open.resume_per_worker().begin(), open.resume_per_worker().end()},
                               "ipv4:127.0.0.1:4711"};
    auto const answer = hub_.ask_now(std::move(event));
    if (!answer.status.ok()) return answer.status;
    session_ = *session;
    hub_.attach(session_, *this);
    return {};
  }

  muster::status take_per_worker(v1::SessionRequest const& m) {
    for (auto const& asked : m.per_worker()) {
      auto event = from_wire(asked, functions_);
      if (!event) return as_status(event.error().message);
      event->owner = session_;
      v1::PerWorkerCreated created;
      to_wire(hub_.ask_now(std::move(*event)), created);
      check_message(created);
    }
    return {};
  }

  muster::status take_closures(v1::SessionRequest const& m) {
    batch_.clear();
    auto const held = [this](std::uint64_t token) {
      return hub_.state().closure_of(session_, token);
    };
    if (auto problem = as_status(from_wire(m, functions_, held, batch_)); !problem.ok())
      return problem;
    require(batch_.closures().size() == static_cast<std::size_t>(m.token_size()),
            "each token is a closure");
    if (resumable_)
      for (auto const token : m.token())
        if (token == 0) return invalid("token: must not be 0");
    if (!batch_.closures().empty()) hub_.apply(batch_.appending(session_, m.generation()));
    return {};
  }

  muster::status take_objects(v1::ObjectRequests const& r) {
    if (!resumable_) return invalid("objects: only sessions that hold values can use objects");
    auto& objects = hub_.objects();
    if (!r.ticket().empty() && !std::exchange(ticket_sent_, true))
      if (auto opened = objects.open(session_, {r.ticket(), {}, true}); !opened.ok()) return opened;
    for (auto const& asked : r.create())
      if (!objects.must_wait_for_name(session_, asked.name()))
        static_cast<void>(objects.create(session_, asked.number(), from_wire(asked)));
    for (auto const& asked : r.create_dataset())
      static_cast<void>(objects.create_dataset(session_, asked.number(), from_wire(asked)));
    for (auto const& asked : r.find()) static_cast<void>(objects.find(session_, asked.name()));
    std::vector<core::objects::call_spec> calls;
    if (auto problem = as_status(from_wire(r, calls)); !problem.ok()) return problem;
    if (!calls.empty() || r.taken_size() > 0)
      objects.call(session_, calls, {r.taken().begin(), r.taken().end()});
    for (auto const id : r.drop()) static_cast<void>(objects.drop(session_, core::object_id{id}));
    return {};
  }

  void take_requests(v1::SessionRequest const& m) {
    for (auto const token : m.cancel_token())
      if (auto const id = hub_.state().closure_of(session_, token); id != core::closure_id{})
        hub_.apply(core::cancel_closure{{}, id});
    if (m.cancel()) hub_.apply(core::cancel_session{{}, session_});
    if (m.release_token_size() > 0)
      hub_.apply(core::release_values{
          {}, session_, {m.release_token().begin(), m.release_token().end()}, {}});
    for (auto const value : m.release_per_worker())
      hub_.apply(core::delete_per_worker{{}, core::per_worker_id{value}, session_});
    if (!m.close()) return;
    forget_ = true;
    leave();
  }

  void leave() {
    over_ = true;
    if (!std::exchange(open_, false)) return;
    hub_.detach(session_);
    if (resumable_ && !forget_)
      hub_.apply(core::suspend_session{session_});
    else
      hub_.apply(core::close_session{session_});
  }

  hub& hub_;
  core::session_id session_{};
  std::vector<core::function_id> functions_;
  submission batch_;
  bool open_ = false;
  bool over_ = false;
  bool resumable_ = false;
  bool ticket_sent_ = false;
  bool forget_ = false;
};

// A hub with a program that waits for workers, and the streams of workers and clients.
class world {
 public:
  world() : hub_({}, surroundings()) {
    core::program_spec spec;
    spec.name = "p";
    spec.command = {"train"};
    spec.tasks.emplace_back().max = 2;
    auto const answer = hub_.ask_now(core::submit_program{{}, std::move(spec)});
    require(answer.status.ok(), "a valid program is accepted");
  }

  void receive(kind what, std::string_view bytes) {
    auto const number = static_cast<std::size_t>(what);
    switch (what) {
      case kind::open_session:
        return decode<v1::OpenSessionRequest>(bytes, [this](auto const& m) { open(m); });
      case kind::schedule:
        return decode<v1::ScheduleRequest>(bytes, [this](auto const& m) { schedule(m); });
      case kind::create_per_worker_value:
        return decode<v1::CreatePerWorkerValueRequest>(bytes, [this](auto const& m) { build(m); });
      case kind::join:
        return decode<v1::JoinRequest>(bytes, [this](auto const& m) {
          if (auto const s = session_of(m.session()))
            ask(core::join_session{{}, *s, until(m.timeout_ms()), core::join_mode::drain});
        });
      case kind::fetch:
        return decode<v1::FetchRequest>(bytes, [this](auto const& m) {
          ask(core::await_value{{}, core::closure_id{m.closure()}, until(m.timeout_ms())});
        });
      case kind::cancel:
        return decode<v1::CancelRequest>(bytes, [this](auto const& m) { cancel(m); });
      case kind::release:
        return decode<v1::ReleaseRequest>(bytes, [this](auto const& m) {
          auto const s = session_of(m.session());
          if (!s) return;
          core::release_values event{{}, *s, {}, {}};
          for (auto const id : m.closure()) event.closures.push_back(core::closure_id{id});
          ask(std::move(event));
        });
      case kind::release_per_worker_value:
        return decode<v1::ReleasePerWorkerValueRequest>(bytes, [this](auto const& m) {
          if (auto const s = session_of(m.session()))
            ask(core::delete_per_worker{{}, core::per_worker_id{m.value()}, *s});
        });
      case kind::close_session:
        return decode<v1::CloseSessionRequest>(bytes, [this](auto const& m) { close(m); });
      case kind::worker_lost:
        return stream_of(workers_, first(bytes)).lose(second(bytes) == 1);
      case kind::session_lost:
        return stream_of(sessions_, first(bytes)).lose(second(bytes) == 1);
      case kind::time:
        return pass_time(first(bytes));
      default:
        break;
    }
    if (number < workers_max)
      return decode<v1::WorkerMessage>(
          bytes, [&](auto const& m) { stream_of(workers_, number).receive(m); });
    decode<v1::SessionRequest>(
        bytes, [&](auto const& m) { stream_of(sessions_, number - workers_max).receive(m); });
  }

  void check() {
    for (auto const& w : workers_)
      if (w) w->send();
    auto const broken = hub_.state().violated_invariant();
    if (!broken.empty()) std::fprintf(stderr, "%s\n", broken.c_str());
    require(broken.empty(), "the invariants of the core hold");
    require(hub_.past().invalid().empty(), "the invariants of the history hold");
    require(hub_.objects().state().invalid().empty(), "the invariants of objects hold");
  }

  void close() {
    hub_.close("the input has ended");
    require(asked_ == answered_, "each call is answered");
    check();
  }

 private:
  hub_dependencies surroundings() {
    hub_dependencies around;
    around.now = [this] { return now_; };
    around.arm = [](core::time_point) {};
    return around;
  }

  template <class Message, class Take>
  static void decode(std::string_view bytes, Take const& take) {
    Message m;
    if (m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) take(m);
  }

  static std::size_t first(std::string_view bytes) {
    return bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  }
  static std::size_t second(std::string_view bytes) {
    return first(bytes.substr(bytes.empty() ? 0 : 1));
  }

  // Returns the stream with this number, or a new one if it has ended.
  template <class Stream, std::size_t N>
  Stream& stream_of(std::array<std::unique_ptr<Stream>, N>& all, std::size_t number) {
    auto& stream = all[number % all.size()];
    if (!stream || stream->is_over()) stream = std::make_unique<Stream>(hub_);
    return *stream;
  }

  static std::optional<core::session_id> session_of(std::string const& text) {
    auto id = parse_job(text);
    if (id && *id == core::session_id{}) id.reset();
    return id;
  }

  core::time_point until(std::uint64_t timeout_ms) const {
    return now_ + std::chrono::milliseconds(std::min<std::uint64_t>(timeout_ms, 600'000));
  }

  // Passes the reply to `then`, and counts it.
  using reply_taker = std::function<void(core::reply const&)>;
  template <class Event>
  void ask(
      Event event, reply_taker then = [](core::reply const&) {}) {
    ++asked_;
    auto once = std::make_shared<bool>(false);
    hub_.ask(std::move(event), [this, once, then = std::move(then)](core::reply const& r) {
      require(!std::exchange(*once, true), "a call is answered once");
      ++answered_;
      require(r.status.ok() || !r.status.message.empty(), "an error has a message");
      then(r);
    });
  }

  void open(v1::OpenSessionRequest const& m) {
    auto spec = from_wire(m.open());
    if (!spec || !m.open().resume().empty() || m.open().detached()) return;
    core::open_session event;
    event.spec = std::move(*spec);
    event.spec.delivery = core::delivery::unary;
    ask(std::move(event));
  }

  void schedule(v1::ScheduleRequest const& m) {
    auto const session = session_of(m.session());
    if (!session) return;
    auto const [wrong, functions] = hub_.learn({m.function().begin(), m.function().end()});
    if (!wrong.ok()) return;
    auto const held = [&](std::uint64_t token) { return hub_.state().closure_of(*session, token); };
    auto closures = std::make_shared<submission>();
    if (!as_status(from_wire(m, functions, held, *closures)).ok()) return;
    require(closures->closures().size() == functions.size(), "each function is a closure");
    auto next = [this, closures, session](core::reply const& r) {
      auto const* const joined = std::get_if<core::join_reply>(&r.body);
      if (r.status.ok() && joined && !joined->has_error)
        ask(std::move(closures->appending(*session)));
    };
    ask(core::join_session{{}, *session, until(m.timeout_ms()), core::join_mode::settle},
        std::move(next));
  }

  void build(v1::CreatePerWorkerValueRequest const& m) {
    auto const session = session_of(m.session());
    auto event = from_wire(m);
    if (!session || !event) return;
    auto const [wrong, functions] = hub_.learn({m.function()});
    if (!wrong.ok()) return;
    event->function = functions.front();
    event->owner = *session;
    ask(std::move(*event), [this](core::reply const& r) {
      if (!r.status.ok()) return;
      auto const id = std::get<core::per_worker_reply>(r.body).id;
      auto const view = hub_.state().per_worker().find(id);
      if (view) check_message(to_wire(*view));
    });
  }

  void cancel(v1::CancelRequest const& m) {
    auto const session = session_of(m.session());
    if (!session) return;
    for (auto const id : m.closure()) {
      auto const view = hub_.state().closures().find(core::closure_id{id});
      if (view && view->job == *session) hub_.apply(core::cancel_closure{{}, core::closure_id{id}});
    }
    if (m.closure_size() == 0) ask(core::cancel_session{{}, *session});
  }

  void close(v1::CloseSessionRequest const& m) {
    auto const session = session_of(m.session());
    if (!session) return;
    auto const view = hub_.state().sessions().find(*session);
    if (view && view->resumable && !core::ended(view->state))
      hub_.apply(core::close_session{*session});
  }

  void pass_time(std::size_t power) {
    now_ += core::duration(std::int64_t{1} << (power % 26));
    for (int n = 0; n < 8 && hub_.state().next_deadline() <= now_; ++n) hub_.on_deadline();
  }

  core::time_point now_ = start;
  std::array<std::unique_ptr<fuzzed_worker>, workers_max> workers_;
  std::array<std::unique_ptr<fuzzed_session>, sessions_max> sessions_;
  std::uint64_t asked_ = 0, answered_ = 0;
  hub hub_;
};

}  // namespace
}  // namespace muster::server

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using muster::server::kind;
  fuzz::input_reader input(data, size);
  if (input.at_end()) return 0;
  muster::server::world w;
  while (!input.at_end()) {
    auto const what = static_cast<kind>(input.byte() % static_cast<unsigned>(kind::end));
    auto const bytes = input.two_bytes();
    w.receive(what, input.piece(bytes));
    w.check();
  }
  w.close();
  return 0;
}
