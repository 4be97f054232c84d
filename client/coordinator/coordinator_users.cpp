// The users' half: any thread, under the mutex.
#include <cinttypes>
#include <cstdio>

#include "client/coordinator/coordinator_checks.hpp"
#include "client/coordinator/coordinator_session.hpp"

namespace muster::detail {

coordinator_session::coordinator_session(coordinator_options options, std::function<void()> wake)
    : options_(std::move(options)), wake_(std::move(wake)) {}

void coordinator_session::wake() {
  if (streaming_ && !std::exchange(signalled_, true)) wake_();
}

void coordinator_session::changed(lock& held) {
  auto const resumed = std::exchange(ready_, {});
  auto const session = std::exchange(session_waiting_, {});
  held.unlock();
  changed_.notify_all();
  for (auto const& w : resumed) w->resume(true);
  for (auto const& w : session) w->resume(true);
}

void coordinator_session::throw_if_lost() const {
  if (!ended_ && !closing_) return;
  if (lost_.empty()) throw std::logic_error("the coordinator is closed");
  raise({failure_kind::dependency_lost, "muster::cluster_coordinator", lost_, {}, {}, 0});
}

void coordinator_session::throw_pending_error() {
  if (!error_) return;
  auto f = std::move(*error_);
  error_.reset();
  raise(std::move(f));
}

bool coordinator_session::full() const {
  return out_.entries() >= options_.pending_max || out_.bytes() >= options_.pending_bytes_max ||
         (!streaming_ && unfinished_ >= options_.pending_max);
}

// ---- waiting ------------------------------------------------------------------------------------

bool coordinator_session::join(milliseconds timeout) {
  lock held(mutex_);
  if (!changed_.wait_for(held, timeout, [this] { return ended_ || joined(); })) return false;
  throw_pending_error();
  throw_if_lost();
  return true;
}

boost::asio::awaitable<bool> coordinator_session::async_join(milliseconds timeout) {
  auto const self = shared_from_this();
  auto const end = clock::now() + timeout;
  for (;;) {
    {
      lock held(mutex_);
      if (ended_ || joined()) {
        throw_pending_error();
        throw_if_lost();
        co_return true;
      }
    }
    auto const left = std::chrono::ceil<milliseconds>(end - clock::now());
    if (left.count() <= 0) co_return false;
    auto enter = [self](std::shared_ptr<waiting> const& w) {
      lock held(self->mutex_);
      if (self->ended_ || self->joined()) {
        held.unlock();
        return w->resume(true);
      }
      self->session_waiting_.push_back(w);
    };
    bool const happened = co_await waiting::wait(left, enter);
    if (!happened) co_await throw_if_cancelled();
  }
}

bool coordinator_session::done() {
  lock held(mutex_);
  // No deadline: what runs is asked to stop and answers, or its worker is lost.
  changed_.wait(held, [this] { return ended_ || settled(); });
  throw_pending_error();
  throw_if_lost();
  return unfinished_ == 0;
}

void coordinator_session::cancel() {
  lock held(mutex_);
  if (ended_ || closing_ || draining_) return;
  draining_ = cancelling_ = true;
  if (!streaming_) return;  // told when there is a stream
  append_cancel();
  wake();
}

void coordinator_session::wait_open() {
  lock held(mutex_);
  changed_.wait(held, [this] { return ended_ || !id_.empty(); });  // connect_timeout ends it
  if (id_.empty()) throw_if_lost();
}

std::string coordinator_session::id() const {
  lock held(mutex_);
  return id_;
}

std::vector<failure> coordinator_session::failures() const {
  lock held(mutex_);
  return failures_;
}

void coordinator_session::close() {
  lock held(mutex_);
  if (std::exchange(closing_, true) || ended_) return;
  if (streaming_ && !options_.detached) {
    out_.tail().set_close(true);
    out_.seal();
  }
  changed_.notify_all();
  wake_();  // also when there is no stream
}

void coordinator_session::wait_ended() {
  lock held(mutex_);
  changed_.wait(held, [this] { return ended_; });  // the link has a deadline for its end
}

// ---- handles ------------------------------------------------------------------------------------

coordinator_session::record const& coordinator_session::known(std::uint64_t token) const {
  return records_.at(token);  // a handle keeps its record
}

void coordinator_session::drop(std::uint64_t token) {
  lock held(mutex_);
  unreference(token);
  if (!out_.empty()) wake();
}

value_status coordinator_session::status(std::uint64_t token) const {
  lock held(mutex_);
  auto const& r = known(token);
  if (!r.ended) return value_status::not_ready;
  return r.error && r.error->kind == failure_kind::worker_lost ? value_status::aborted
                                                               : value_status::ready;
}

value coordinator_session::get(std::uint64_t token, milliseconds timeout) {
  lock held(mutex_);
  auto const& r = known(token);
  if (!r.ended && !changed_.wait_for(held, timeout, [&r] { return r.ended; }))
    throw wait_timeout("the closure has not finished within " + in_ms(timeout));
  if (!r.error) return r.output;
  auto f = *r.error;
  held.unlock();
  raise(std::move(f));
}

boost::asio::awaitable<void> coordinator_session::async_wait(std::uint64_t token,
                                                             milliseconds timeout) {
  auto const self = shared_from_this();
  auto enter = [self, token](std::shared_ptr<waiting> const& w) {
    lock held(self->mutex_);
    auto& r = self->records_.at(token);
    if (!r.ended) return r.waiters.push_back(w);
    held.unlock();
    w->resume(true);
  };
  bool const ended = co_await waiting::wait(timeout, enter);
  if (ended) co_return;
  co_await throw_if_cancelled();
  throw wait_timeout("the closure has not finished within " + in_ms(timeout));
}

std::string coordinator_session::value_id(std::uint64_t token) const {
  lock held(mutex_);
  auto const closure = known(token).closure;
  if (closure == 0) return {};
  char text[24];
  std::snprintf(text, sizeof text, "rv_%016" PRIx64, closure);
  return text;
}

void coordinator_session::cancel(std::uint64_t token) {
  lock held(mutex_);
  if (ended_ || closing_ || known(token).ended || !streaming_) return;
  out_.add_entry(9).add_cancel_token(token);
  wake();
}

// ---- value_handle -------------------------------------------------------------------------------

value_handle::~value_handle() {
  session_->drop(token_);
}
value_status value_handle::status() const {
  return session_->status(token_);
}
value value_handle::get(std::chrono::milliseconds timeout) const {
  return session_->get(token_, timeout);
}
boost::asio::awaitable<void> value_handle::async_wait(std::chrono::milliseconds timeout) const {
  return session_->async_wait(token_, timeout);
}
std::string value_handle::id() const {
  return session_->value_id(token_);
}
void value_handle::cancel() const {
  session_->cancel(token_);
}

}  // namespace muster::detail
