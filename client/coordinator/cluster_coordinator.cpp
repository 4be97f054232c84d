#include "muster/cluster_coordinator.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/check.hpp"
#include "base/text.hpp"
#include "client/coordinator/coordinator_session.hpp"
#include "client/coordinator/explain_call.hpp"
#include "client/session/session_link.hpp"
#include "muster/per_worker.hpp"

namespace muster {

using lock = std::unique_lock<std::mutex>;

void raise(failure f) {
  switch (f.kind) {
    case failure_kind::input:
      throw input_error(std::move(f));
    case failure_kind::cancelled:
      throw cancelled_error(std::move(f));
    case failure_kind::worker_lost:
      throw aborted_error(std::move(f));
    case failure_kind::dependency_lost:
      throw unavailable_error(std::move(f));
    default:
      throw closure_error(std::move(f));
  }
}

cluster_coordinator::cluster_coordinator(coordinator_options options)
    : engine_(client_engine::shared()),
      session_(std::make_shared<detail::coordinator_session>(std::move(options))) {
  session_->begin_objects(engine_);
  session_->start(*engine_);
}

cluster_coordinator::~cluster_coordinator() {
  check(!engine_->context().running_in_this_thread(),
        "the engine cannot wait for itself on its own thread");
  session_->close();
  session_->wait_ended();
}

void cluster_coordinator::wait_open() {
  session_->wait_open();
}
std::string cluster_coordinator::id() const {
  return session_->id();
}

bool cluster_coordinator::join(milliseconds timeout) {
  auto& s = *session_;
  lock held(s.mutex_);
  auto const mine = s.make_join_target();
  if (!s.changed_.wait_for(held, timeout, [&] { return s.joined(*mine); })) return false;
  s.raise_pending();
  return true;
}

boost::asio::awaitable<bool> cluster_coordinator::async_join(milliseconds timeout) {
  auto const s = session_;
  lock held(s->mutex_);
  auto const joined = [s, mine = s->make_join_target()] { return s->joined(*mine); };
  held.unlock();
  auto const then = [s] { s->raise_pending(); };
  auto joining = s->async_when(joined, timeout, then);
  co_return co_await std::move(joining);
}

bool cluster_coordinator::done() {
  auto& s = *session_;
  lock held(s.mutex_);
  // No deadline is needed, because running calls are asked to stop, and each call finishes when its
  // worker answers or is declared lost.
  s.changed_.wait(held, [&s] { return s.ended_ || s.generation_.settled(); });
  s.raise_pending();
  return s.unfinished_ == 0;
}

void cluster_coordinator::cancel() {
  auto& s = *session_;
  lock held(s.mutex_);
  if (s.ended_ || s.closing_ || s.generation_.cancelling()) return;
  if (!s.generation_.settled()) {  // an error is cancelling the scheduled calls
    for (auto& [token, r] : s.records_)
      if (r.generation == 0) s.cancel_one(token, r);
    return;
  }
  s.generation_.cancel();
  if (!s.streaming_) return;  // the cancellation is sent on the next stream
  s.cancel_sent_ = true;
  s.append_cancel();
  s.wake();
}

std::vector<failure> cluster_coordinator::failures() const {
  lock held(session_->mutex_);
  return session_->generation_.failures();
}

std::string per_worker_value::id() const {
  if (!handle_) throw std::logic_error("the per_worker_value is empty or was released");
  return per_worker_text(handle_->value());
}

namespace detail {
namespace {

// Returns a random secret that authorises object calls on behalf of the session.
std::string random_ticket() {
  std::string bytes(24, '\0');
  if (getentropy(bytes.data(), bytes.size()) != 0)
    throw std::system_error(errno, std::generic_category(), "getentropy");
  return bytes;
}

}  // namespace

coordinator_session::coordinator_session(coordinator_options options)
    : client_session(options, true),
      options_(std::move(options)),
      objects_(std::make_shared<object_calls>(random_ticket())),
      queue_(options_.queue_capacity) {}

void coordinator_session::throw_if_over() const {
  if (!ended_ && !closing_) return;
  if (reason_.empty()) throw std::logic_error("the coordinator is closed");
  raise({failure_kind::dependency_lost, "muster::cluster_coordinator", reason_});
}

void coordinator_session::raise_pending() {
  generation_.raise_error();
  if (auto const told = std::exchange(pending_error_, nullptr)) std::rethrow_exception(told);
  throw_if_over();
}

void coordinator_session::cancel_one(std::uint64_t token, closure_record& r) {
  if (ended_ || closing_ || r.ended || r.cancelled) return;
  r.cancelled = true;
  if (!streaming_) return;  // the cancellation is sent on the next stream
  out_.add_entry(9).add_cancel_token(token);
  wake();
}

std::shared_ptr<coordinator_session::cut const> coordinator_session::make_join_target() {
  std::erase_if(join_targets_, [](auto const& c) { return c.expired(); });
  auto made = std::make_shared<cut>(cut{last_token_, unfinished_});
  join_targets_.push_back(made);
  return made;
}

void coordinator_session::close() {
  objects_->repeat();  // resends updates that the server had no room for
  lock held(mutex_);
  if (std::exchange(closing_, true) || ended_) return;
  half_close_ = options_.detached;
  // Send pending object messages before closing.
  while (streaming_ && takes_objects_ && objects_->has_more()) {
    out_.seal();
    if (!objects_->fill(*out_.tail().mutable_objects())) break;
    out_.seal();
  }
  if (streaming_ && !options_.detached) {
    out_.tail().set_close(true);
    out_.seal();
  }
  changed_.notify_all();
  link_->close();
}

std::uint64_t coordinator_session::closure_id(std::uint64_t token) const {
  lock held(mutex_);
  return records_.at(token).closure;
}

value_handle::~value_handle() {
  if (!session_) return;
  auto& s = *session_;
  lock held(s.mutex_);
  s.unreference(token_);
  if (!s.out_.empty()) s.wake();
}

value_status value_handle::status() const {
  lock held(session_->mutex_);
  auto const& r = session_->records_.at(token_);
  if (!r.ended) return value_status::not_ready;
  return r.error && r.error->kind == failure_kind::worker_lost ? value_status::aborted
                                                               : value_status::ready;
}

value value_handle::get(std::chrono::milliseconds timeout) const {
  auto& s = *session_;
  lock held(s.mutex_);
  auto const& r = s.records_.at(token_);
  if (!r.ended && !s.changed_.wait_for(held, timeout, [&r] { return r.ended; })) {
    held.unlock();
    throw wait_timeout("the closure did not finish within " + in_ms(timeout) +
                       explanation(session_, token_, timeout));
  }
  if (!r.error) return r.output;
  auto f = *r.error;
  held.unlock();
  raise(std::move(f));
}

boost::asio::awaitable<void> value_handle::async_wait(std::chrono::milliseconds timeout) const {
  auto enter = [s = session_, token = token_](std::shared_ptr<waiting> const& w) {
    lock held(s->mutex_);
    auto& r = s->records_.at(token);
    if (!r.ended) return r.waiters.push_back(w);
    held.unlock();
    w->resume(true);
  };
  bool const ended = co_await waiting::wait(timeout, enter);
  if (ended) co_return;
  auto asking = async_explanation(session_, token_, timeout);
  auto const why = co_await std::move(asking);
  throw wait_timeout("the closure did not finish within " + in_ms(timeout) + why);
}

std::string value_handle::id() const {
  auto const closure = session_->closure_id(token_);
  return closure == 0 ? std::string() : "rv_" + hex16(closure);
}

std::string value_handle::function() const {
  auto const& s = *session_;
  lock held(s.mutex_);
  return std::string(s.names_[s.records_.at(token_).function]);
}

void value_handle::cancel() const {
  auto& s = *session_;
  lock held(s.mutex_);
  s.cancel_one(token_, s.records_.at(token_));
}

per_worker_handle::~per_worker_handle() {
  auto& s = *session_;
  lock held(s.mutex_);
  s.unreference_built(token_);
  if (!s.out_.empty()) s.wake();
}

std::uint64_t per_worker_handle::value() const {
  lock held(session_->mutex_);
  return session_->per_worker_values_.at(token_).value;
}

}  // namespace detail

}  // namespace muster
