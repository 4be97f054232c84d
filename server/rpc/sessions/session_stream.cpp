#include "server/rpc/sessions/session_stream.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "proto/columns.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/hub/access/use.hpp"
#include "server/hub/id_parsing.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/sessions/schedule_convert.hpp"

namespace muster::server {
namespace {

constexpr std::size_t created_bytes = 64;

// Returns whether the closures can be appended in parts. A gang starts as a whole, and an input can
// contain an index into the message's arrays, so neither can be split.
bool can_be_cut(std::vector<core::closure_spec> const& closures) {
  return std::none_of(closures.begin(), closures.end(), [](core::closure_spec const& c) {
    if (!c.extras) return false;
    auto const& inputs = c.extras->inputs;
    return !c.extras->options.gang.empty() ||
           std::any_of(inputs.begin(), inputs.end(),
                       [](auto const& i) { return i.closure == core::closure_id{}; });
  });
}
// Polling interval while the disk is slow or full, or the token's quota is used up.
constexpr std::chrono::milliseconds look_again{20};

v1::QueueReport queue_of(hub const& h, core::session_id session, std::uint64_t taken) {
  v1::QueueReport report;
  report.set_taken(taken);
  if (auto const job = h.state().sessions().find(session))
    report.set_waiting(job->counts.queued + job->counts.blocked);
  return report;
}

}  // namespace

session_stream::session_stream(call& c, pools& all, stream_options const& options)
    : message_stream(c, options.finish_grace),
      pools_(all),
      options_(options),
      queue_look_(c.engine()),
      later_(c.engine()),
      lost_(c.engine()),
      names_(c.engine()) {}

coro::task<void> session_stream::run() {
  // Detects a disconnected client while the stream is not read.
  call_.on_cancel([this] { end(grpc::Status::CANCELLED); });
  return serve("open", options_.first_message_timeout);
}

void session_stream::shut_down() {
  end({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
}

bool session_stream::may_read() {
  if (!open_) return true;
  if (waiting_message_ || !waiting_.empty()) return false;
  if (!hub_->state().has_room(session_) || out_.entries() >= outcomes_max_) return false;
  if (!hub_->sessions().is_paused(session_) && !(limited_ && queue_room_of(*limited_, pools_) == 0))
    return true;
  later_.call_at(coro::timer::clock::now() + look_again, [this] { room(); });
  return false;
}

void session_stream::on_journal_failure(muster::status const& why) {
  lost_.call_at(coro::timer::clock::now(), [this, why] { end(to_grpc(why)); });
}

muster::status session_stream::take(v1::SessionRequest const& m) {
  if (closing_) return {};
  if (!open_) {
    if (!m.has_open()) return invalid("open: must be the first message");
    if (auto problem = take_open(m.open()); !problem.ok()) return problem;
  } else if (m.has_open()) {
    return invalid("open: must be sent only once");
  }
  // The stream is still read, because releases arrive on it.
  if (limited_ && resumable_ && m.token_size() > 0)
    if (auto full = room_for_values(*limited_, pools_); !full.ok()) return full;
  if (auto problem = take_names(m); !problem.ok()) return problem;
  if (auto problem = take_per_worker(m); !problem.ok()) return problem;
  batch_.clear();
  auto const held = [this](std::uint64_t token) {
    return hub_->state().closure_of(session_, token);
  };
  if (auto problem = from_wire(m, functions_, held, batch_); !problem.empty())
    return invalid(problem);
  if (resumable_)
    for (int i = 0; i < m.token_size(); ++i)
      if (m.token(i) == 0) return invalid("token[" + std::to_string(i) + "]: must not be 0");
  append_batch(m);
  if (waiting_message_) return {};
  return take_other_requests(m);
}

muster::status session_stream::take_other_requests(v1::SessionRequest const& m) {
  if (m.has_objects())
    if (auto problem = take_objects(m.objects()); !problem.ok()) return problem;
  take_requests(m);
  return {};
}

void session_stream::apply(core::schedule& event) {
  taken_ += event.closures.size();
  hub_->apply(event);
  if (reports_queue_) wake();
}

void session_stream::append_batch(v1::SessionRequest const& m) {
  if (batch_.closures().empty()) return;
  auto& event = batch_.appending(session_, m.generation());
  auto const n = event.closures.size();
  auto const room = limited_ ? queue_room_of(*limited_, pools_) : n;
  if (room >= n || !can_be_cut(event.closures)) return apply(event);
  waiting_message_.emplace(rest_of_message{event, m});
  append_waiting();
}

void session_stream::append_waiting() {
  if (!open_ || closing_) return;
  auto& waiting = waiting_message_->closures.closures;
  auto const n = std::min(waiting.size(), queue_room_of(*limited_, pools_));
  if (n > 0) {
    auto all = std::exchange(waiting, {});
    auto event = waiting_message_->closures;
    waiting = std::move(all);
    auto const end = waiting.begin() + static_cast<std::ptrdiff_t>(n);
    event.closures.assign(std::make_move_iterator(waiting.begin()), std::make_move_iterator(end));
    waiting.erase(waiting.begin(), end);
    apply(event);
  }
  if (!waiting.empty())
    return later_.call_at(coro::timer::clock::now() + look_again, [this] { append_waiting(); });
  auto const message = std::move(waiting_message_->message);
  waiting_message_.reset();
  if (!open_) return;
  if (auto const problem = take_other_requests(message); !problem.ok()) {
    refused(problem);
    return end(to_grpc(problem));
  }
  room();
}

void session_stream::take_requests(v1::SessionRequest const& m) {
  for (auto const token : m.cancel_token())
    if (auto const id = hub_->state().closure_of(session_, token); id != core::closure_id{})
      hub_->apply(core::cancel_closure{{}, id});
  if (m.cancel()) hub_->apply(core::cancel_session{{}, session_});
  if (m.release_token_size() > 0)
    hub_->apply(core::release_values{
        {}, session_, {m.release_token().begin(), m.release_token().end()}, {}});
  for (auto const value : m.release_per_worker())
    hub_->apply(core::delete_per_worker{{}, core::per_worker_id{value}, session_});
  if (m.close()) close();
}

void session_stream::close() {
  forget_ = true;
  end_with_lines();
}

void session_stream::end_with_lines() {
  if (!lines_) return end(grpc::Status::OK);
  out_.clear();
  lines_->finish(out_.tail());
  closing_ = true;
  leave_session();
  later_.call_at(coro::timer::clock::now() + options_.finish_grace,
                 [this] { end(grpc::Status::OK); });
  wake();
}

// Adds log lines to the next message, so that they do not wait behind outcomes. `opened` is sent
// without them.
void session_stream::before_write() {
  if (reports_queue_ && open_) report_queue();
  if (!lines_ || closing_) return;
  if (out_.empty() && complete()) {
    lines_->finish(out_.tail());
    return lines_.reset();
  }
  if (!lines_->ready()) return;
  if (auto& next = out_.front(); !next.has_opened()) lines_->fill(next);
}

// A closure that starts without another closure's outcome, for example on a new worker, does not
// wake this stream. The timer detects the start, so that a client with a full queue continues.
void session_stream::report_queue() {
  auto report = queue_of(*hub_, session_, taken_);
  if (report.waiting() >= capacity_)
    queue_look_.call_at(coro::timer::clock::now() + look_again, [this] { wake(); });
  if (report.taken() == reported_.taken() && report.waiting() == reported_.waiting()) return;
  *out_.tail().mutable_queue() = report;
  reported_ = std::move(report);
}

muster::status session_stream::take_open(v1::Open const& open) {
  core::resume_reply resumed;
  auto const problem = open.resume().empty() ? open_new(open) : resume(open, resumed);
  if (!problem.ok()) return problem;
  auto const view = hub_->state().sessions().find(session_).value();
  auto opened = to_wire(view, open, hub_->state().configuration());
  opened.set_server_incarnation(options_.server_incarnation());
  opened.set_server_version(options_.server_version);
  outcomes_max_ = opened.queue_capacity();
  capacity_ = open.queue_capacity() > 0 ? open.queue_capacity() : opened.queue_capacity();
  open_ = true;
  resumable_ = view.resumable;
  greeted();
  spdlog::info("session {} session={} name=\"{}\" peer={}",
               open.resume().empty() ? "opened" : "resumed", opened.session(), view.name,
               call_.context().peer());
  auto send = [this, alive = std::weak_ptr(alive_), opened = std::move(opened),
               resumed = std::move(resumed), lines = open.log_lines(),
               reports = open.report_queue(), after = open.log_lines_after()] {
    if (alive.expired()) return;
    *out_.tail().mutable_opened() = opened;
    if (reports && open_) {
      *out_.tail().mutable_queue() = reported_ = queue_of(*hub_, session_, taken_);
      reports_queue_ = true;
    }
    out_.seal();
    if (lines && open_) lines_.emplace(call_.engine(), *hub_, session_, after, [this] { wake(); });
    resend_notices(resumed);
    wake();
  };
  hub_->sessions().run_after_pending_commits(session_, std::move(send));
  return {};
}

muster::status session_stream::open_new(v1::Open const& open) {
  auto spec = from_wire(open);
  if (!spec) return spec.error();
  auto const found = pool_of_call(pools_, options_, call_.context(), open.cluster());
  if (!found) return {found.error().code, "open.cluster: " + found.error().message};
  hub_ = *found;
  core::open_session event;
  event.spec = std::move(*spec);
  if (auto const who = caller_of(options_.gate, call_.context())) {
    event.spec.submitted_by = who->id;
    if (who->queued_max + who->value_bytes_max > 0) limited_ = who;
    limit_to(*who, event.spec);
    if (auto full = room_of(*who, pools_, 1, 0); !full.ok()) return full;
  }
  event.client = call_.context().peer();
  auto const answer = hub_->ask_now(std::move(event));
  if (!answer.status.ok()) return answer.status;
  session_ = std::get<core::session_reply>(answer.body).session;
  hub_->attach(session_, *this);
  return {};
}

muster::status session_stream::resume(v1::Open const& open, core::resume_reply& resumed) {
  auto const session = parse_job(open.resume());
  if (!session || *session == core::session_id{})
    return invalid("open.resume: '" + open.resume() + "' is not a session id");
  if (open.resume_incarnation() != options_.server_incarnation())
    return {muster::code::not_found,
            "open.resume: the session belongs to another server, or was lost in a restart without "
            "--data-dir"};
  hub_ = &pools_.of(*session);
  auto const who = caller_of(options_.gate, call_.context());
  if (auto wrong = check_owner(who, *hub_, *session); !wrong.ok())
    return {wrong.code, "open.resume: " + wrong.message};
  if (who && who->queued_max + who->value_bytes_max > 0) limited_ = who;
  core::resume_session event{{},
                             *session,
                             {open.resume_token().begin(), open.resume_token().end()},
                             {open.resume_per_worker().begin(), open.resume_per_worker().end()},
                             call_.context().peer()};
  auto const answer = hub_->ask_now(std::move(event));
  if (!answer.status.ok()) return {answer.status.code, "open.resume: " + answer.status.message};
  session_ = *session;
  hub_->attach(session_, *this);
  resumed = std::get<core::resume_reply>(answer.body);
  return {};
}

// Repeats the last error and the last drain notice, in case the client missed them. The client
// ignores repeated notices.
void session_stream::resend_notices(core::resume_reply const& r) {
  using core::notice_kind;
  if (r.failed_generation != 0)
    on_notice({session_, notice_kind::failed, r.failed_generation, r.failure});
  if (r.generation > 1) on_notice({session_, notice_kind::drained, r.generation - 1, {}});
}

muster::status session_stream::take_names(v1::SessionRequest const& m) {
  if (m.function_name_size() == 0) return {};
  auto const at = [](std::size_t i) { return "function_name[" + std::to_string(i) + "]: "; };
  auto const who = caller_of(options_.gate, call_.context());
  for (int i = 0; i < m.function_name_size(); ++i)
    if (auto bad = check_function(who, m.function_name(i)); !bad.ok())
      return {bad.code, at(static_cast<std::size_t>(i)) + bad.message};
  auto const [wrong, ids] = hub_->learn({m.function_name().begin(), m.function_name().end()});
  if (!wrong.ok()) return {wrong.code, at(ids.size()) + wrong.message};
  auto const room = hub_->state().configuration().functions_max - functions_.size();
  if (ids.size() > room)
    return {muster::code::resource_exhausted, at(room) + "too many function names on this stream"};
  functions_.insert(functions_.end(), ids.begin(), ids.end());
  return {};
}

muster::status session_stream::take_per_worker(v1::SessionRequest const& m) {
  for (int i = 0; i < m.per_worker_size(); ++i) {
    auto event = from_wire(m.per_worker(i), functions_);
    if (!event) return invalid("per_worker[" + std::to_string(i) + "]." + event.error().message);
    event->owner = session_;
    core::reply answer;
    if (limited_) answer.status = room_of(*limited_, pools_, 0, 1);
    if (answer.status.ok()) answer = hub_->ask_now(std::move(*event));
    v1::PerWorkerCreated created;
    created.set_token(m.per_worker(i).token());
    to_wire(answer, created);
    auto send = [this, alive = std::weak_ptr(alive_), created = std::move(created)] {
      if (alive.expired()) return;
      *out_.add_entry(created_bytes).add_per_worker() = created;
      wake();
    };
    hub_->sessions().run_after_pending_commits(session_, std::move(send));
  }
  return {};
}

void session_stream::input_ended() {
  if (closing_) return;
  if (!open_) return end(to_grpc(invalid("open: required, but the stream ended first")));
  if (call_.cancelled()) return end(grpc::Status::CANCELLED);
  if (resumable_) return end_with_lines();  // the client has left, but can resume the session
  sealed_ = true;                           // on_cancel is called later if the connection broke
  hub_->apply(core::seal_session{{}, session_});
  wake();
}

void session_stream::leave_session() {
  if (!std::exchange(open_, false)) return;
  waiting_.clear();
  lines_.reset();
  hub_->detach(session_);
  bool const stays = resumable_ && !forget_;
  spdlog::info("session {} session={} complete={}", stays ? "waits for its client" : "closed",
               core::text(session_), sealed_ && drained_);
  if (stays)
    hub_->apply(core::suspend_session{session_});
  else
    hub_->apply(core::close_session{session_});
}

void session_stream::on_outcome(core::outcome const& o) {
  auto const value = o.value.view();
  auto const bytes =
      o.ok ? value.size()
           : o.failure->message.size() + o.failure->traceback.size() + o.failure->exception.size();
  auto& m = out_.add_entry(bytes + 16);
  int const position = m.token_size();
  m.add_token(o.token);
  m.add_value(value.data(), value.size());
  proto::add_encoding(*m.mutable_encoding(), position, o.value.encoding() == core::encoding::bytes);
  if (resumable_) m.add_closure(core::raw(o.closure));
  if (!o.ok) {
    auto& f = *m.add_failure();
    f.set_position(static_cast<std::uint32_t>(position));
    to_wire(*o.failure, f);
  }
  wake();
}

void session_stream::on_notice(core::session_notification const& n) {
  if (n.kind == core::notice_kind::room) return room();
  if (n.kind == core::notice_kind::suspect) return on_suspect(n);
  bool const drained = n.kind == core::notice_kind::drained;
  drained_ |= drained && sealed_;
  if (resumable_) {
    auto& notice = *out_.tail().add_notice();
    notice.set_kind(drained ? v1::Notice::DRAINED : v1::Notice::FAILED);
    notice.set_generation(n.generation);
    if (!drained) to_wire(n.failure, *notice.mutable_failure());
    if (drained) out_.seal();  // later outcomes belong to the next generation
  }
  wake();
}

void session_stream::on_suspect(core::session_notification const& n) {
  auto& s = *out_.tail().add_suspect();
  s.set_closure(core::raw(n.closure));
  s.set_function(n.failure.type);
  s.set_workers_lost(n.failure.attempt);
  s.set_worker(n.failure.worker);
  wake();
}

void session_stream::on_removed(muster::status const& why) {
  open_ = false;
  if (lines_) lines_->forget_hub();
  end(to_grpc(why));
}

void session_stream::on_replaced() {
  open_ = false;
  lines_.reset();
  end({grpc::StatusCode::ABORTED, "another stream has resumed the session"});
}

}  // namespace muster::server
