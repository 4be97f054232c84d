#include "muster/coordination_agent.hpp"

#include "client/agent/agent.hpp"
#include "client/agent/key_watching.hpp"
#include "client/session/question.hpp"

namespace muster {

using detail::agent;
using detail::ask;
using detail::run_async;
using detail::ticket;

namespace {

template <class T, class... Params, class... Args>
std::shared_ptr<detail::question<T>> call(std::shared_ptr<agent> const& a,
                                          coro::task<T> (agent::*method)(ticket&, Params...),
                                          Args... args) {
  auto spawn = [a](coro::task<void> body) { a->spawn("call", std::move(body)); };
  auto operation = [a, method, ... kept = std::move(args)](ticket& t) mutable {
    return ((*a).*method)(t, std::move(kept)...);
  };
  return std::make_shared<detail::question<T>>(a->context(), std::move(spawn), std::move(operation),
                                               &a->tickets());
}

coordination_options checked(coordination_options o) {
  auto const positive = [](std::chrono::milliseconds t, char const* field) {
    if (t.count() <= 0) throw std::invalid_argument(std::string(field) + " must be positive");
  };
  positive(o.heartbeat_timeout, "heartbeat_timeout");
  positive(o.connect_timeout, "connect_timeout");
  positive(o.shutdown_timeout, "shutdown_timeout");
  positive(o.call_timeout, "call_timeout");
  positive(o.watch_interval, "watch_interval");
  return o;
}

}  // namespace

key_watch::key_watch(std::shared_ptr<detail::key_watching> w) : watching_(std::move(w)) {}

key_watch::~key_watch() {
  stop();
}

key_watch& key_watch::operator=(key_watch&& other) noexcept {
  std::swap(watching_, other.watching_);
  other.stop();
  return *this;
}

void key_watch::stop() {
  if (auto const w = std::move(watching_)) w->stop();
}

coordination_agent::coordination_agent(coordination_options options)
    : engine_(client_engine::shared()),
      agent_(std::make_shared<agent>(*engine_, checked(std::move(options)))) {}

coordination_agent::~coordination_agent() {
  agent_->close();
}

agent_state coordination_agent::state() const {
  std::lock_guard const held(agent_->mutex_);
  return agent_->state_;
}
std::uint64_t coordination_agent::incarnation() const {
  std::lock_guard const held(agent_->mutex_);
  return agent_->incarnation_;
}
std::uint64_t coordination_agent::service_incarnation() const {
  std::lock_guard const held(agent_->mutex_);
  return agent_->service_;
}
std::optional<agent_error> coordination_agent::error() const {
  std::lock_guard const held(agent_->mutex_);
  return agent_->state_ == agent_state::failed ? agent_->error_ : std::nullopt;
}

key_watch coordination_agent::watch(std::string folder,
                                    std::function<void(key_change const&)> on_change) {
  auto const w = std::make_shared<detail::key_watching>(agent_->context(), std::move(folder),
                                                        std::move(on_change));
  ask(call(agent_, &agent::watch, w));
  return key_watch(w);
}

bool coordination_agent::leave_barrier(std::string id) {
  return ask(call(agent_, &agent::leave_barrier, std::move(id)));
}

void coordination_agent::connect() {
  ask(call(agent_, &agent::connect));
}
auto coordination_agent::async_connect() -> awaitable<void> {
  return run_async(call(agent_, &agent::connect));
}

void coordination_agent::shutdown() {
  ask(call(agent_, &agent::shutdown));
}
auto coordination_agent::async_shutdown() -> awaitable<void> {
  return run_async(call(agent_, &agent::shutdown));
}

std::vector<std::string> coordination_agent::wait_for_all(std::vector<std::string> devices,
                                                          milliseconds timeout) {
  return ask(call(agent_, &agent::wait_for_all, std::move(devices), timeout));
}
auto coordination_agent::async_wait_for_all(std::vector<std::string> devices, milliseconds timeout)
    -> awaitable<std::vector<std::string>> {
  return run_async(call(agent_, &agent::wait_for_all, std::move(devices), timeout));
}

std::string coordination_agent::get(std::string key, milliseconds timeout) {
  return ask(call(agent_, &agent::get, std::move(key), timeout));
}
auto coordination_agent::async_get(std::string key, milliseconds timeout)
    -> awaitable<std::string> {
  return run_async(call(agent_, &agent::get, std::move(key), timeout));
}

std::optional<std::string> coordination_agent::try_get(std::string key) {
  return ask(call(agent_, &agent::try_get, std::move(key)));
}
auto coordination_agent::async_try_get(std::string key) -> awaitable<std::optional<std::string>> {
  return run_async(call(agent_, &agent::try_get, std::move(key)));
}

std::vector<key_value> coordination_agent::list(std::string folder) {
  return ask(call(agent_, &agent::list, std::move(folder)));
}
auto coordination_agent::async_list(std::string folder) -> awaitable<std::vector<key_value>> {
  return run_async(call(agent_, &agent::list, std::move(folder)));
}

std::int64_t coordination_agent::increment(std::string key, std::int64_t by) {
  return ask(call(agent_, &agent::increment, std::move(key), by));
}
auto coordination_agent::async_increment(std::string key, std::int64_t by)
    -> awaitable<std::int64_t> {
  return run_async(call(agent_, &agent::increment, std::move(key), by));
}

void coordination_agent::erase(std::string key) {
  ask(call(agent_, &agent::erase, std::move(key)));
}
auto coordination_agent::async_erase(std::string key) -> awaitable<void> {
  return run_async(call(agent_, &agent::erase, std::move(key)));
}

std::int64_t coordination_agent::barrier(std::string id, milliseconds timeout,
                                         std::vector<std::uint32_t> participants) {
  return ask(call(agent_, &agent::barrier, std::move(id), timeout, std::move(participants)));
}
auto coordination_agent::async_barrier(std::string id, milliseconds timeout,
                                       std::vector<std::uint32_t> participants)
    -> awaitable<std::int64_t> {
  return run_async(call(agent_, &agent::barrier, std::move(id), timeout, std::move(participants)));
}

void coordination_agent::cancel_barrier(std::string id) {
  ask(call(agent_, &agent::cancel_barrier, std::move(id)));
}
auto coordination_agent::async_cancel_barrier(std::string id) -> awaitable<void> {
  return run_async(call(agent_, &agent::cancel_barrier, std::move(id)));
}

void coordination_agent::report_error(coordination_code code, std::string message) {
  ask(call(agent_, &agent::report_error, code, std::move(message)));
}
auto coordination_agent::async_report_error(coordination_code code, std::string message)
    -> awaitable<void> {
  return run_async(call(agent_, &agent::report_error, code, std::move(message)));
}

std::optional<agent_error> coordination_agent::wait_for_error(milliseconds timeout) {
  return ask(call(agent_, &agent::wait_for_error, timeout));
}
auto coordination_agent::async_wait_for_error(milliseconds timeout)
    -> awaitable<std::optional<agent_error>> {
  return run_async(call(agent_, &agent::wait_for_error, timeout));
}

std::vector<live_task> coordination_agent::live_tasks(std::vector<std::uint32_t> among,
                                                      milliseconds timeout) {
  return ask(call(agent_, &agent::live_tasks, std::move(among), timeout));
}
auto coordination_agent::async_live_tasks(std::vector<std::uint32_t> among, milliseconds timeout)
    -> awaitable<std::vector<live_task>> {
  return run_async(call(agent_, &agent::live_tasks, std::move(among), timeout));
}

bool coordination_agent::set_if_absent(std::string key, std::string value) {
  return ask(call(agent_, &agent::set, std::move(key), std::move(value), false));
}
auto coordination_agent::async_set_if_absent(std::string key, std::string value)
    -> awaitable<bool> {
  return run_async(call(agent_, &agent::set, std::move(key), std::move(value), false));
}

task_list coordination_agent::tasks() {
  return wait_for_tasks(-1, agent_->options_.call_timeout);
}
auto coordination_agent::async_tasks() -> awaitable<task_list> {
  return async_wait_for_tasks(-1, agent_->options_.call_timeout);
}

task_list coordination_agent::wait_for_tasks(std::int64_t version, milliseconds timeout) {
  return ask(call(agent_, &agent::tasks, version, timeout));
}
auto coordination_agent::async_wait_for_tasks(std::int64_t version, milliseconds timeout)
    -> awaitable<task_list> {
  return run_async(call(agent_, &agent::tasks, version, timeout));
}

void coordination_agent::set(std::string key, std::string value) {
  ask(call(agent_, &agent::set, std::move(key), std::move(value), true));
}
auto coordination_agent::async_set(std::string key, std::string value) -> awaitable<void> {
  auto setting = run_async(call(agent_, &agent::set, std::move(key), std::move(value), true));
  co_await std::move(setting);
}

}  // namespace muster
