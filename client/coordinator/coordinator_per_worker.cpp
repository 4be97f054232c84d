// PerWorkerValues of a coordinator: created and dropped by users, answered by the server.
#include <algorithm>

#include "client/coordinator/coordinator_checks.hpp"
#include "client/coordinator/coordinator_session.hpp"
#include "client/failure_text.hpp"
#include "muster/per_worker.hpp"
#include "muster/per_worker_value.hpp"

namespace muster {

std::string per_worker_value::id() const {
  if (!handle_) throw std::logic_error("a per_worker_value of nothing, or it was released");
  return per_worker_text(handle_->value());
}

}  // namespace muster

namespace muster::detail {

// ---- users --------------------------------------------------------------------------------------

std::uint64_t coordinator_session::create(request r) {
  check_request(r);
  if (!r.inputs.empty() || !r.per_worker.empty())
    throw std::invalid_argument(
        "the arguments of a builder are plain: it runs again when a worker comes back");
  lock held(mutex_);
  throw_if_lost();
  built_record added;
  added.function = number_of(r.function);
  added.args = std::move(r.args);
  auto const token = ++last_token_;
  auto const& stored = built_.emplace(token, std::move(added)).first->second;
  if (streaming_) append_built(token, stored);
  wake();
  return token;
}

bool coordinator_session::created(std::uint64_t token) {
  auto const& b = built_.at(token);  // the caller has a handle
  if (b.error) raise(failure(*b.error));
  if (b.value != 0) return true;
  throw_if_lost();
  return false;
}

void coordinator_session::wait_created(std::uint64_t token) {
  lock held(mutex_);
  auto const& b = built_.at(token);
  // No deadline: connect_timeout or the grace ends it.
  changed_.wait(held, [&] { return ended_ || closing_ || b.answered(); });
  created(token);
}

boost::asio::awaitable<void> coordinator_session::async_wait_created(std::uint64_t token) {
  auto const self = shared_from_this();
  for (;;) {
    {
      lock held(mutex_);
      if (created(token)) co_return;
    }
    auto enter = [self, token](std::shared_ptr<waiting> const& w) {
      lock held(self->mutex_);
      if (!self->ended_ && !self->closing_ && !self->built_.at(token).answered())
        return self->session_waiting_.push_back(w);
      held.unlock();
      w->resume(true);
    };
    bool const happened = co_await waiting::wait(for_ever, enter);
    if (!happened) co_await throw_if_cancelled();
  }
}

void coordinator_session::add_per_worker(record& r, request const& from) const {
  for (auto const& used : from.per_worker) {
    built_use use{used->session() == this ? used->token() : 0, used->value()};
    auto const same = [&use](built_use const& u) { return u.value == use.value; };
    if (std::none_of(r.per_worker.begin(), r.per_worker.end(), same)) r.per_worker.push_back(use);
  }
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

per_worker_handle::~per_worker_handle() {
  session_->drop_per_worker(token_);
}
std::uint64_t per_worker_handle::value() const {
  return session_->per_worker_value(token_);
}

// ---- the link -----------------------------------------------------------------------------------

void coordinator_session::append_built(std::uint64_t token, built_record const& b) {
  auto& p = *out_.add_entry(b.args.size() + 24).add_per_worker();
  p.set_token(token);
  p.set_function(b.function);
  p.set_args(b.args);
}

// One that is dropped before the server has answered stays until it has, as its handle is needed.
void coordinator_session::unreference_built(std::uint64_t token) {
  auto& b = built_.at(token);
  if (--b.references > 0 || (!b.answered() && !ended_)) return;
  if (b.value != 0 && streaming_ && !ended_) out_.add_entry(9).add_release_per_worker(b.value);
  built_.erase(token);  // without a stream: it is not listed when the session is resumed
}

void coordinator_session::take_created(v1::SessionResponse const& m) {
  for (auto const& p : m.per_worker()) {
    auto const it = built_.find(p.token());
    if (it == built_.end() || it->second.answered()) continue;  // repeated
    auto& b = it->second;
    if (p.has_failure())
      b.error = std::make_unique<failure>(from_wire(p.failure()));
    else
      b.value = p.value();
    b.args = {};
    if (b.references > 0) continue;
    ++b.references;
    unreference_built(p.token());
  }
}

}  // namespace muster::detail
