// The users' half: waiting, and handles. Any thread, under the mutex.
#include "client/coordinator/coordinator_session.hpp"
#include "client/session/session_link.hpp"

namespace muster::detail {

coordinator_session::coordinator_session(coordinator_options options)
    : client_session(options, true), options_(std::move(options)) {}

void coordinator_session::throw_if_over() const {
  if (!ended_ && !closing_) return;
  if (reason_.empty()) throw std::logic_error("the coordinator is closed");
  raise({failure_kind::dependency_lost, "muster::cluster_coordinator", reason_});
}

void coordinator_session::raise_pending() {
  generation_.raise_error();
  throw_if_over();
}

std::shared_ptr<coordinator_session::cut const> coordinator_session::cut_here() {
  std::erase_if(cuts_, [](auto const& c) { return c.expired(); });
  auto made = std::make_shared<cut>(cut{last_token_, unfinished_});
  cuts_.push_back(made);
  return made;
}

bool coordinator_session::join(milliseconds timeout) {
  lock held(mutex_);
  auto const mine = cut_here();
  if (!changed_.wait_for(held, timeout, [&] { return joined(*mine); })) return false;
  raise_pending();
  return true;
}

boost::asio::awaitable<bool> coordinator_session::async_join(milliseconds timeout) {
  auto const self = shared_from_this();
  auto const end = clock::now() + timeout;
  std::shared_ptr<cut const> mine;
  {
    lock held(mutex_);
    mine = cut_here();
  }
  auto const over = [this, mine] { return joined(*mine); };
  for (;;) {
    {
      lock held(mutex_);
      if (over()) {
        raise_pending();
        co_return true;
      }
    }
    if (clock::now() >= end) co_return false;
    co_await async_until(over, end);
  }
}

bool coordinator_session::done() {
  lock held(mutex_);
  // No deadline: what runs is asked to stop and answers, or its worker is lost.
  changed_.wait(held, [this] { return ended_ || generation_.settled(); });
  raise_pending();
  return unfinished_ == 0;
}

void coordinator_session::cancel() {
  lock held(mutex_);
  if (ended_ || closing_ || !generation_.settled()) return;
  generation_.cancel();
  if (!streaming_) return;  // told when there is a stream
  cancel_sent_ = true;
  append_cancel();
  wake();
}

std::vector<failure> coordinator_session::failures() const {
  lock held(mutex_);
  return generation_.failures();
}

void coordinator_session::close() {
  lock held(mutex_);
  if (std::exchange(closing_, true) || ended_) return;
  half_close_ = options_.detached;
  if (streaming_ && !options_.detached) {
    out_.tail().set_close(true);
    out_.seal();
  }
  changed_.notify_all();
  link_->close();
}

void coordinator_session::drop(std::uint64_t token) {
  lock held(mutex_);
  unreference(token);
  if (!out_.empty()) wake();
}

value_status coordinator_session::status(std::uint64_t token) const {
  lock held(mutex_);
  auto const& r = records_.at(token);
  if (!r.ended) return value_status::not_ready;
  return r.error && r.error->kind == failure_kind::worker_lost ? value_status::aborted
                                                               : value_status::ready;
}

value coordinator_session::get(std::uint64_t token, milliseconds timeout) {
  lock held(mutex_);
  auto const& r = records_.at(token);
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
  auto enter = [this, token](std::shared_ptr<waiting> const& w) {
    lock held(mutex_);
    auto& r = records_.at(token);
    if (!r.ended) return r.waiters.push_back(w);
    held.unlock();
    w->resume(true);
  };
  bool const ended = co_await waiting::wait(timeout, enter);
  if (!ended) throw wait_timeout("the closure has not finished within " + in_ms(timeout));
}

std::uint64_t coordinator_session::closure_id(std::uint64_t token) const {
  lock held(mutex_);
  return records_.at(token).closure;
}

void coordinator_session::cancel(std::uint64_t token) {
  lock held(mutex_);
  if (ended_ || closing_ || records_.at(token).ended || !streaming_) return;
  out_.add_entry(9).add_cancel_token(token);
  wake();
}

void coordinator_session::drop_per_worker(std::uint64_t token) {
  lock held(mutex_);
  unreference_built(token);
  if (!out_.empty()) wake();
}

std::uint64_t coordinator_session::per_worker_value(std::uint64_t token) const {
  lock held(mutex_);
  return built_.at(token).value;
}

}  // namespace muster::detail
