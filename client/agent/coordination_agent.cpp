// The faces of an agent's operations: one that blocks, one for coroutines.
#include "muster/coordination_agent.hpp"

#include "client/agent/key_watching.hpp"
#include "client/agent/question.hpp"

namespace muster {

using detail::agent;
using detail::ask;
using detail::async_ask;
using detail::ticket;

namespace {

// The operation `method` with these arguments, for a question: once.
template <class T, class... Params, class... Args>
typename detail::question<T>::operation operation(coro::task<T> (agent::*method)(ticket&,
                                                                                 Params...),
                                                  Args... args) {
  return [method, ... kept = std::move(args)](agent& a, ticket& t) mutable {
    return (a.*method)(t, std::move(kept)...);
  };
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
  return agent_->state();
}
std::uint64_t coordination_agent::incarnation() const {
  return agent_->incarnation();
}
std::uint64_t coordination_agent::service_incarnation() const {
  return agent_->service_incarnation();
}
std::optional<agent_error> coordination_agent::error() const {
  return agent_->error();
}

key_watch coordination_agent::watch(std::string folder,
                                    std::function<void(key_change const&)> on_change) {
  auto const w = std::make_shared<detail::key_watching>(agent_->context(), std::move(folder),
                                                        std::move(on_change));
  ask<void>(agent_, operation(&agent::watch, w));
  return key_watch(w);
}

bool coordination_agent::leave_barrier(std::string id) {
  return ask<bool>(agent_, operation(&agent::leave_barrier, std::move(id)));
}

void coordination_agent::connect() {
  return ask<void>(agent_, operation(&agent::connect));
}
boost::asio::awaitable<void> coordination_agent::async_connect() {
  return async_ask<void>(agent_, operation(&agent::connect));
}

void coordination_agent::shutdown() {
  return ask<void>(agent_, operation(&agent::shutdown));
}
boost::asio::awaitable<void> coordination_agent::async_shutdown() {
  return async_ask<void>(agent_, operation(&agent::shutdown));
}

std::vector<std::string> coordination_agent::wait_for_all(std::vector<std::string> devices,
                                                          milliseconds timeout) {
  return ask<std::vector<std::string>>(
      agent_, operation(&agent::wait_for_all, std::move(devices), timeout));
}
boost::asio::awaitable<std::vector<std::string>> coordination_agent::async_wait_for_all(
    std::vector<std::string> devices, milliseconds timeout) {
  return async_ask<std::vector<std::string>>(
      agent_, operation(&agent::wait_for_all, std::move(devices), timeout));
}

std::string coordination_agent::get(std::string key, milliseconds timeout) {
  return ask<std::string>(agent_, operation(&agent::get, std::move(key), timeout));
}
boost::asio::awaitable<std::string> coordination_agent::async_get(std::string key,
                                                                  milliseconds timeout) {
  return async_ask<std::string>(agent_, operation(&agent::get, std::move(key), timeout));
}

std::optional<std::string> coordination_agent::try_get(std::string key) {
  return ask<std::optional<std::string>>(agent_, operation(&agent::try_get, std::move(key)));
}
boost::asio::awaitable<std::optional<std::string>> coordination_agent::async_try_get(
    std::string key) {
  return async_ask<std::optional<std::string>>(agent_, operation(&agent::try_get, std::move(key)));
}

std::vector<key_value> coordination_agent::list(std::string folder) {
  return ask<std::vector<key_value>>(agent_, operation(&agent::list, std::move(folder)));
}
boost::asio::awaitable<std::vector<key_value>> coordination_agent::async_list(std::string folder) {
  return async_ask<std::vector<key_value>>(agent_, operation(&agent::list, std::move(folder)));
}

std::int64_t coordination_agent::increment(std::string key, std::int64_t by) {
  return ask<std::int64_t>(agent_, operation(&agent::increment, std::move(key), by));
}
boost::asio::awaitable<std::int64_t> coordination_agent::async_increment(std::string key,
                                                                         std::int64_t by) {
  return async_ask<std::int64_t>(agent_, operation(&agent::increment, std::move(key), by));
}

void coordination_agent::erase(std::string key) {
  return ask<void>(agent_, operation(&agent::erase, std::move(key)));
}
boost::asio::awaitable<void> coordination_agent::async_erase(std::string key) {
  return async_ask<void>(agent_, operation(&agent::erase, std::move(key)));
}

std::int64_t coordination_agent::barrier(std::string id, milliseconds timeout,
                                         std::vector<std::uint32_t> participants) {
  return ask<std::int64_t>(
      agent_, operation(&agent::barrier, std::move(id), timeout, std::move(participants)));
}
boost::asio::awaitable<std::int64_t> coordination_agent::async_barrier(
    std::string id, milliseconds timeout, std::vector<std::uint32_t> participants) {
  return async_ask<std::int64_t>(
      agent_, operation(&agent::barrier, std::move(id), timeout, std::move(participants)));
}

void coordination_agent::cancel_barrier(std::string id) {
  return ask<void>(agent_, operation(&agent::cancel_barrier, std::move(id)));
}
boost::asio::awaitable<void> coordination_agent::async_cancel_barrier(std::string id) {
  return async_ask<void>(agent_, operation(&agent::cancel_barrier, std::move(id)));
}

void coordination_agent::report_error(coordination_code code, std::string message) {
  return ask<void>(agent_, operation(&agent::report_error, code, std::move(message)));
}
boost::asio::awaitable<void> coordination_agent::async_report_error(coordination_code code,
                                                                    std::string message) {
  return async_ask<void>(agent_, operation(&agent::report_error, code, std::move(message)));
}

std::optional<agent_error> coordination_agent::wait_for_error(milliseconds timeout) {
  return ask<std::optional<agent_error>>(agent_, operation(&agent::wait_for_error, timeout));
}
boost::asio::awaitable<std::optional<agent_error>> coordination_agent::async_wait_for_error(
    milliseconds timeout) {
  return async_ask<std::optional<agent_error>>(agent_, operation(&agent::wait_for_error, timeout));
}

std::vector<live_task> coordination_agent::live_tasks(std::vector<std::uint32_t> among,
                                                      milliseconds timeout) {
  return ask<std::vector<live_task>>(agent_,
                                     operation(&agent::live_tasks, std::move(among), timeout));
}
boost::asio::awaitable<std::vector<live_task>> coordination_agent::async_live_tasks(
    std::vector<std::uint32_t> among, milliseconds timeout) {
  return async_ask<std::vector<live_task>>(
      agent_, operation(&agent::live_tasks, std::move(among), timeout));
}

bool coordination_agent::set_if_absent(std::string key, std::string value) {
  return ask<bool>(agent_, operation(&agent::set, std::move(key), std::move(value), false));
}
boost::asio::awaitable<bool> coordination_agent::async_set_if_absent(std::string key,
                                                                     std::string value) {
  return async_ask<bool>(agent_, operation(&agent::set, std::move(key), std::move(value), false));
}

task_list coordination_agent::tasks() {
  return ask<task_list>(agent_, operation(&agent::tasks, std::int64_t{-1}, agent_->call_timeout()));
}
boost::asio::awaitable<task_list> coordination_agent::async_tasks() {
  return async_ask<task_list>(agent_,
                              operation(&agent::tasks, std::int64_t{-1}, agent_->call_timeout()));
}

task_list coordination_agent::wait_for_tasks(std::int64_t version, milliseconds timeout) {
  return ask<task_list>(agent_, operation(&agent::tasks, version, timeout));
}
boost::asio::awaitable<task_list> coordination_agent::async_wait_for_tasks(std::int64_t version,
                                                                           milliseconds timeout) {
  return async_ask<task_list>(agent_, operation(&agent::tasks, version, timeout));
}

void coordination_agent::set(std::string key, std::string value) {
  ask<bool>(agent_, operation(&agent::set, std::move(key), std::move(value), true));
}
boost::asio::awaitable<void> coordination_agent::async_set(std::string key, std::string value) {
  auto setting =
      async_ask<bool>(agent_, operation(&agent::set, std::move(key), std::move(value), true));
  co_await std::move(setting);
}

}  // namespace muster
