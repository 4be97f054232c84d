#include "launch/attempt.hpp"

#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <system_error>

namespace muster::launch {

attempt::attempt(environment e, std::vector<role> roles, std::function<void(attempt_result)> over)
    : env_(e), on_over_(std::move(over)), timer_(e.io) {
  for (auto& r : roles)
    tasks_.push_back(
        std::make_unique<task_process>(env_.io, env_.out, std::move(r), [this] { check_over(); }));
}

void attempt::start() {
  started_ = clock::now();
  for (auto& t : tasks_) {
    if (stopping_) break;
    start_one(*t);
  }
  for (auto const& t : tasks_)
    if (!t->started() && (!result_.first || t->of().name != result_.first->task))
      result_.all.push_back({.task = t->of().name, .why = ending::cause::not_started});
  boost::asio::post(env_.io, [this] { check_over(); });
}

void attempt::start_one(task_process& t) {
  try {
    t.start();
  } catch (std::system_error const& e) {
    failed({.task = t.of().name,
            .status = status_of_start_error(e.code().value()),
            .why = ending::cause::not_started,
            .after = clock::now() - started_,
            .last_errors = {start_error(t.of().argv.front(), e)}});
  }
}

void attempt::ended(pid_t pid, int raw_status) {
  auto const it =
      std::find_if(tasks_.begin(), tasks_.end(), [pid](auto const& t) { return t->pid() == pid; });
  if (it == tasks_.end()) return;
  auto& t = **it;
  t.signal(SIGKILL);  // kills the remaining processes of its group
  ending e{.task = t.of().name, .after = clock::now() - started_};
  set_status(e, raw_status);
  if (stopping_) e.why = killed_ ? ending::cause::killed : ending::cause::stopped;
  t.ended();
  if (e.status != 0 && !stopping_)
    failed(e);
  else
    result_.all.push_back(e);
  stop_if_only_servers_are_left();
  if (e.status == 0 && e.task.starts_with("chief:")) watch_remaining_workers();
}

// TensorFlow's workers of a parameter-server job never exit, while training workers can exit after
// their chief. Only the user knows whether the workers of a job are parameter-server workers or
// training workers.
void attempt::watch_remaining_workers() {
  if (stopping_ || first_running_worker().empty()) return;
  timer_.expires_after(chief_patience);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error || stopping_ || ended_ || first_running_worker().empty()) return;
    env_.out.say("the chief has exited, but " + first_running_worker() +
                 " is still running. If it only serves the chief, pass --ends-with chief");
  });
}

std::string attempt::first_running_worker() const {
  for (auto const& t : tasks_)
    if (t->running() && !t->of().serves && t->of().name.starts_with("worker:")) return t->of().name;
  return {};
}

// The last lines of the failed program may not have been read yet; finish() adds them.
void attempt::failed(ending const& e) {
  result_.first = e;
  result_.all.push_back(e);
  stop_all(SIGTERM);
}

void attempt::stop_if_only_servers_are_left() {
  auto const serves = [](auto const& t) { return t->of().serves; };
  auto const over_or_serves = [&](auto const& t) { return serves(t) || !t->running(); };
  if (!stopping_ && !std::all_of(tasks_.begin(), tasks_.end(), serves) &&
      std::all_of(tasks_.begin(), tasks_.end(), over_or_serves))
    stop_all(SIGTERM);
}

void attempt::stop(int signal) {
  stop_requested_ = true;
  stop_all(signal);
}

void attempt::stop_all(int signal) {
  bool const first = !stopping_;
  stopping_ = true;
  for (auto const& t : tasks_) {
    t->signal(signal);
    t->signal(SIGCONT);  // a stopped process could not handle the signal
  }
  if (!first) return;
  timer_.expires_after(env_.grace);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !ended_) kill();
  });
}

void attempt::kill() {
  stopping_ = killed_ = true;
  for (auto const& t : tasks_) t->signal(SIGKILL);
  timer_.expires_after(kill_patience);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) finish();
  });
}

void attempt::forward(int signal) {
  for (auto const& t : tasks_) t->signal(signal);
}

void attempt::resume() {
  for (auto const& t : tasks_) t->resume();
}

std::size_t attempt::running() const {
  return static_cast<std::size_t>(
      std::count_if(tasks_.begin(), tasks_.end(), [](auto const& t) { return t->running(); }));
}

void attempt::check_over() {
  auto const over = [](auto const& t) { return !t->started() || t->finished(); };
  if (std::all_of(tasks_.begin(), tasks_.end(), over)) finish();
}

void attempt::finish() {
  if (ended_) return;
  ended_ = true;
  timer_.cancel();
  for (auto& e : result_.all) {
    auto const t = std::find_if(tasks_.begin(), tasks_.end(),
                                [&e](auto const& one) { return one->of().name == e.task; });
    if ((*t)->started()) e.last_errors = (*t)->last_errors();
    if (result_.first && result_.first->task == e.task) result_.first = e;
  }
  if (!stop_requested_) {
    on_over_(std::move(result_));
    return;
  }
  // After stop(), the first unsuccessful program determines the outcome.
  auto const bad = std::find_if(result_.all.begin(), result_.all.end(),
                                [](auto const& e) { return e.status != 0; });
  if (!result_.first && bad != result_.all.end()) result_.first = *bad;
  on_over_(std::move(result_));
}

}  // namespace muster::launch
