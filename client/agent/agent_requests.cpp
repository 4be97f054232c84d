#include <charconv>

#include "client/agent/agent.hpp"

namespace muster::detail {

namespace x = xla::coordination;

namespace {

using std::chrono::milliseconds;

/// Added to a call's deadline, because the service ends the barrier itself with a more precise
/// error.
constexpr milliseconds barrier_margin{5'000};

std::int64_t number_in(std::string const& text) {
  std::int64_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size())
    throw coordination_error(coordination_code::internal,
                             "the new value of the key is not a number: " + text);
  return n;
}

task_status read_task(x::TaskInfo const& m) {
  task_status s;
  s.task = static_cast<std::uint32_t>(m.task_id());
  s.state = static_cast<task_state>(m.state());
  s.incarnation = m.incarnation();
  s.message = m.error_message();
  if (m.error_code() != 0) s.error = static_cast<coordination_code>(m.error_code());
  return s;
}

}  // namespace

coro::task<std::vector<std::string>> agent::wait_for_all(ticket& t,
                                                         std::vector<std::string> devices,
                                                         milliseconds timeout) {
  tensorflow::WaitForAllTasksRequest q;
  for (auto& d : devices) q.mutable_device_info()->add_device()->set_value(std::move(d));
  auto asking = answer(t, &tensorflow_stub::PrepareAsyncWaitForAllTasks, q, timeout);
  auto r = co_await std::move(asking);
  std::vector<std::string> all;
  for (auto& d : *r.mutable_device_info()->mutable_device())
    all.push_back(std::move(*d.mutable_value()));
  co_return all;
}

coro::task<bool> agent::set(ticket& t, std::string key, std::string value, bool overwrite) {
  x::InsertKeyValueRequest q;
  q.mutable_kv()->set_key(std::move(key));
  q.mutable_kv()->set_value(std::move(value));
  q.set_allow_overwrite(overwrite);
  x::InsertKeyValueResponse r;
  auto asking = ask(t, &xla_stub::PrepareAsyncInsertKeyValue, q, r, options_.call_timeout,
                    overwrite ? again::yes : again::no);
  auto const refused = co_await std::move(asking);
  if (refused && refused->code == coordination_code::already_exists) co_return false;
  if (refused) refused->raise();
  co_return true;
}

coro::task<std::string> agent::get(ticket& t, std::string key, milliseconds timeout) {
  x::GetKeyValueRequest q;
  q.set_key(std::move(key));
  auto asking = answer(t, &xla_stub::PrepareAsyncGetKeyValue, q, timeout);
  auto r = co_await std::move(asking);
  co_return std::move(*r.mutable_kv()->mutable_value());
}

coro::task<std::optional<std::string>> agent::try_get(ticket& t, std::string key) {
  x::TryGetKeyValueRequest q;
  q.set_key(std::move(key));
  x::TryGetKeyValueResponse r;
  auto asking =
      ask(t, &xla_stub::PrepareAsyncTryGetKeyValue, q, r, options_.call_timeout, again::yes);
  auto const refused = co_await std::move(asking);
  if (refused && refused->code == coordination_code::not_found) co_return std::nullopt;
  if (refused) refused->raise();
  co_return std::move(*r.mutable_kv()->mutable_value());
}

coro::task<std::vector<key_value>> agent::list(ticket& t, std::string folder) {
  x::GetKeyValueDirRequest q;
  q.set_directory_key(std::move(folder));
  auto asking = answer(t, &xla_stub::PrepareAsyncGetKeyValueDir, q, options_.call_timeout);
  auto r = co_await std::move(asking);
  std::vector<key_value> all;
  for (auto& kv : *r.mutable_kv())
    all.push_back({std::move(*kv.mutable_key()), std::move(*kv.mutable_value())});
  co_return all;
}

coro::task<std::int64_t> agent::increment(ticket& t, std::string key, std::int64_t by) {
  x::IncrementKeyValueRequest q;
  q.set_key(std::move(key));
  q.set_increment(by);
  auto asking =
      answer(t, &xla_stub::PrepareAsyncIncrementKeyValue, q, options_.call_timeout, again::no);
  auto const r = co_await std::move(asking);
  co_return number_in(r.kv().value());
}

coro::task<void> agent::erase(ticket& t, std::string key) {
  x::DeleteKeyValueRequest q;
  q.set_key(std::move(key));
  q.set_is_directory(true);
  auto asking = answer(t, &xla_stub::PrepareAsyncDeleteKeyValue, q, options_.call_timeout);
  co_await std::move(asking);
}

// A call that is repeated after a broken connection counts as the same use. The service replaces
// the old call, or returns the barrier's result.
coro::task<std::int64_t> agent::barrier(ticket& t, std::string id, milliseconds timeout,
                                        std::vector<std::uint32_t> participants) {
  auto const [place, entered] = waits_at_.try_emplace(id, &t);
  if (!entered)
    throw coordination_error(coordination_code::failed_precondition,
                             "this agent is already waiting at barrier " + id);
  auto const leave = [this](auto* which) { waits_at_.erase(*which); };
  std::unique_ptr<std::string const, decltype(leave)> const there(&id, leave);
  x::BarrierRequest q;
  q.set_barrier_id(id);
  q.set_barrier_timeout_in_ms(timeout.count());
  q.set_counter(uses_.next(id));
  for (auto const p : participants) q.add_task_ids(static_cast<std::int32_t>(p));
  x::BarrierResponse r;
  auto asking = ask(t, &xla_stub::PrepareAsyncBarrier, q, r, timeout + barrier_margin, again::yes);
  auto const refused = co_await std::move(asking);
  if (refused && refused->barrier) uses_.note(id, refused->barrier->second);
  if (refused) refused->raise();
  uses_.note(id, r.counter());
  co_return r.counter();
}

// Only participants know the current use. For all other tasks, the service's error contains the
// current use.
coro::task<void> agent::cancel_barrier(ticket& t, std::string id) {
  auto use = uses_.next(id);
  for (bool told = false;; told = true) {
    x::CancelBarrierRequest q;
    q.set_barrier_id(id);
    q.set_counter(use);
    x::CancelBarrierResponse r;
    auto asking =
        ask(t, &xla_stub::PrepareAsyncCancelBarrier, q, r, options_.call_timeout, again::no);
    auto const refused = co_await std::move(asking);
    if (!refused) co_return;
    if (told || !refused->barrier || refused->barrier->second == use) refused->raise();
    use = refused->barrier->second;
  }
}

coro::task<bool> agent::leave_barrier(ticket&, std::string id) {
  auto const it = waits_at_.find(id);
  if (it == waits_at_.end()) co_return false;
  it->second->cut_short(ticket::cut::left);
  co_return true;
}

coro::task<void> agent::report_error(ticket& t, coordination_code code, std::string message) {
  x::ReportErrorToServiceRequest q;
  q.set_error_code(static_cast<std::int32_t>(code));
  q.set_error_message(message);
  auto asking =
      answer(t, &xla_stub::PrepareAsyncReportErrorToService, q, options_.call_timeout, again::no);
  try {
    co_await std::move(asking);
  } catch (agent_error const&) {
    co_return;  // this agent received the reported error before the answer
  }
  service_error own;
  own.code = code;
  own.message = std::move(message);
  own.task = options_.task;
  own.reported = true;
  fail(own);
}

coro::task<std::optional<agent_error>> agent::wait_for_error(ticket& t, milliseconds timeout) {
  if (state_ == agent_state::failed) co_return error_;
  check_cut(t);
  check_connected();
  auto waiting = t.pause().wait_for(timeout);
  co_await std::move(waiting);
  if (t.why() == ticket::cut::failed) co_return error_;
  if (t.why() != ticket::cut::closed) check_cut(t);
  co_return std::nullopt;
}

coro::task<task_list> agent::tasks(ticket& t, std::int64_t version, milliseconds timeout) {
  x::WatchTasksRequest q;
  q.set_version_number(version);
  auto asking = answer(t, &xla_stub::PrepareAsyncWatchTasks, q, timeout);
  auto const r = co_await std::move(asking);
  task_list list;
  list.version = r.version_number();
  for (auto const& m : r.task_state()) list.tasks.push_back(read_task(m));
  co_return list;
}

coro::task<std::vector<live_task>> agent::live_tasks(ticket& t, std::vector<std::uint32_t> among,
                                                     milliseconds timeout) {
  auto const end = clock::now() + timeout;
  if (among.empty()) {
    auto listing = tasks(t, -1, timeout);
    auto const all = co_await std::move(listing);
    for (auto const& s : all.tasks) among.push_back(s.task);
  }
  x::GetAliveTasksRequest q;
  for (auto const task : among) q.add_task_ids(static_cast<std::int32_t>(task));
  auto const left = std::chrono::duration_cast<milliseconds>(end - clock::now());
  auto asking = answer(t, &xla_stub::PrepareAsyncGetAliveTasks, q, left);
  auto const r = co_await std::move(asking);
  std::vector<live_task> alive;
  for (int i = 0; i < std::min(r.alive_task_ids_size(), r.incarnations_size()); ++i)
    alive.push_back({static_cast<std::uint32_t>(r.alive_task_ids(i)), r.incarnations(i)});
  co_return alive;
}

}  // namespace muster::detail
