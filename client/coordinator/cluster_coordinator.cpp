// The public face of a coordinator_session, and of what it hands out: values and failures.
#include "muster/cluster_coordinator.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "client/coordinator/coordinator_session.hpp"
#include "muster/per_worker.hpp"

namespace muster {

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
  session_->start(*engine_);
}

cluster_coordinator::~cluster_coordinator() {
  check(!engine_->context().running_in_this_thread(), "the engine does not wait for itself");
  session_->close();
  session_->wait_ended();
}

std::shared_ptr<detail::value_handle const> cluster_coordinator::put(detail::request r) {
  auto const token = session_->put(std::move(r));
  return std::make_shared<detail::value_handle const>(session_, token);
}

boost::asio::awaitable<std::shared_ptr<detail::value_handle const>> cluster_coordinator::async_put(
    detail::request r) {
  auto const session = session_;
  auto putting = session->async_put(std::move(r));
  auto const token = co_await std::move(putting);
  co_return std::make_shared<detail::value_handle const>(session, token);
}

std::vector<std::shared_ptr<detail::value_handle const>> cluster_coordinator::put_gang(
    std::vector<detail::request> all) {
  auto const n = all.size();
  if (n == 0) throw std::invalid_argument("a gang without members");
  auto const first = session_->put_gang(std::move(all));
  std::vector<std::shared_ptr<detail::value_handle const>> handles;
  for (std::size_t i = 0; i < n; ++i)
    handles.push_back(std::make_shared<detail::value_handle const>(session_, first + i));
  return handles;
}

per_worker_value cluster_coordinator::create(detail::request r) {
  auto const token = session_->create(std::move(r));
  auto const handle = std::make_shared<detail::per_worker_handle const>(session_, token);
  session_->wait_created(token);
  return per_worker_value(handle);
}

boost::asio::awaitable<per_worker_value> cluster_coordinator::async_create(detail::request r) {
  auto const session = session_;
  auto const token = session->create(std::move(r));
  auto const handle = std::make_shared<detail::per_worker_handle const>(session, token);
  co_await session->async_wait_created(token);
  co_return per_worker_value(handle);
}

void cluster_coordinator::wait_open() {
  session_->wait_open();
}
std::string cluster_coordinator::id() const {
  return session_->id();
}
bool cluster_coordinator::join(milliseconds timeout) {
  return session_->join(timeout);
}
boost::asio::awaitable<bool> cluster_coordinator::async_join(milliseconds timeout) {
  return session_->async_join(timeout);
}
bool cluster_coordinator::done() {
  return session_->done();
}
void cluster_coordinator::cancel() {
  session_->cancel();
}
std::vector<failure> cluster_coordinator::failures() const {
  return session_->failures();
}

std::string per_worker_value::id() const {
  if (!handle_) throw std::logic_error("a per_worker_value of nothing, or it was released");
  return per_worker_text(handle_->value());
}

namespace detail {

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
  auto const closure = session_->closure_id(token_);
  return closure == 0 ? std::string() : "rv_" + hex16(closure);
}
void value_handle::cancel() const {
  session_->cancel(token_);
}

per_worker_handle::~per_worker_handle() {
  session_->drop_per_worker(token_);
}
std::uint64_t per_worker_handle::value() const {
  return session_->per_worker_value(token_);
}
std::string const& per_worker_handle::server() const {
  return session_->settings().server;
}
std::string const& per_worker_handle::credential() const {
  return session_->settings().token;
}
tls_options const& per_worker_handle::tls() const {
  return session_->settings().tls;
}

}  // namespace detail

}  // namespace muster
