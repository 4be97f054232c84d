#include "launch/ranks/rank_set.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "launch/ending.hpp"
#include "launch/ranks/oom_kills.hpp"
#include "launch/ranks/rank_launcher.hpp"
#include "launch/supervision.hpp"

namespace muster::launch {
namespace {

void prepare_directory(rank_role const& role) {
  auto const& cwd = role.program.cwd;
  std::error_code ignored;
  if (role.own_cwd) {
    std::filesystem::create_directories(cwd);
    auto const& user = role.program.user;
    if (user && ::chown(cwd.c_str(), user->user, user->group) != 0)
      throw std::system_error(errno, std::generic_category(), cwd);
  } else if (!std::filesystem::is_directory(cwd, ignored)) {
    throw std::runtime_error("the working directory '" + cwd + "' does not exist on this host");
  }
}

}  // namespace

rank_set::rank_set(boost::asio::io_context& io, start_order order, callbacks c, fork_server* forks)
    : io_(io),
      on_(std::move(c)),
      grace_(order.grace),
      output_(io, {.shown = false,
                   .prefix = false,
                   .directory = order.logs,
                   .file_bytes_max = rank_log_bytes_max}),
      forks_(forks),
      oom_kills_(oom_kills()) {
  output_.resume = [this] {
    for (auto const& r : ranks_)
      if (r->process) r->process->resume();
  };
  for (auto& role : order.ranks) {
    ranks_.push_back(std::make_unique<rank>(io_));
    start(*ranks_.back(), std::move(role));
  }
  for (auto const& r : ranks_)
    if (!r->end.not_started.empty()) over(*r);
  if (!forks_) return;
  forks_->notify_when_ready([this] {
    for (auto const& r : ranks_)
      if (r->waits) fork(*r);
  });
}

rank_set::~rank_set() {
  if (forks_) forks_->forget();
}

void rank_set::start(rank& r, rank_role role) {
  r.end.rank = role.rank;
  r.end.not_started = role.refusal;
  if (!r.end.not_started.empty()) return;
  if (forks_ && role.python)
    r.waits = std::make_unique<rank_role>(std::move(role));
  else
    execute(r, std::move(role));
}

std::unique_ptr<task_process> rank_set::made_of(rank& r, rank_role role) {
  if (!role.step_pattern.empty())
    r.steps = std::make_unique<step_lines>(role.step_pattern, role.step_file);
  auto process = std::make_unique<task_process>(io_, output_, std::move(role.program),
                                                [this, &r] { over(r); });
  if (r.steps) process->on_line = [&r](std::string_view line) { r.steps->take(line); };
  return process;
}

void rank_set::execute(rank& r, rank_role role) {
  auto const command = role.program.argv.front();
  try {
    prepare_directory(role);
    auto const not_preloaded = role.not_preloaded;
    auto process = made_of(r, std::move(role));
    try {
      process->start();
    } catch (std::system_error const& e) {
      r.end.not_started = start_error(command, e);
      r.end.exit_status = static_cast<std::uint32_t>(status_of_start_error(e.code().value()));
      return;
    }
    r.process = std::move(process);
    on_.on_started(r.end.rank, r.process->pid(), not_preloaded);
  } catch (std::exception const& e) {
    r.end.not_started = e.what();
  }
}

void rank_set::fork(rank& r) {
  if (!forks_->why_not().empty()) return forked(r, {});
  try {
    prepare_directory(*r.waits);
  } catch (std::exception const& e) {
    return give_up(r, e.what());
  }
  forks_->fork(*r.waits, [this, &r](auto made) { forked(r, std::move(made)); });
}

// Executes the rank's program normally if the rank could not be forked. A fork exits if its rank
// was abandoned.
void rank_set::forked(rank& r, std::optional<forked_rank> made) {
  if (!r.waits || (made && take(r, std::move(*made)))) return;
  auto role = std::move(*r.waits);
  r.waits.reset();
  auto const& why = forks_->why_not();
  role.not_preloaded = why.empty() ? "the fork server could not start the rank" : why;
  execute(r, std::move(role));
  if (!r.end.not_started.empty()) over(r);
}

// Opens the rank's files before the rank starts, because nothing can fail afterwards.
bool rank_set::take(rank& r, forked_rank made) {
  auto const is_it = [&made](auto const& other) {
    return other->process && other->process->pid() == made.process.pid;
  };
  if (std::any_of(ranks_.begin(), ranks_.end(), is_it))
    return false;  // the reported PID belongs
                   // to a different rank
  try {
    output_.add_task(r.waits->program.name);
  } catch (std::exception const& e) {
    give_up(r, e.what());
    return true;
  }
  if (!made.let_go()) return false;
  auto const role = std::move(r.waits);
  r.process = made_of(r, std::move(*role));
  r.process->start(std::move(made.process));
  on_.on_started(r.end.rank, r.process->pid(), {});
  return true;
}

void rank_set::give_up(rank& r, std::string why) {
  r.waits.reset();
  r.end.not_started = std::move(why);
  over(r);
}

void rank_set::ended(pid_t pid, int raw_status) {
  auto const it = std::find_if(ranks_.begin(), ranks_.end(), [pid](auto const& r) {
    return r->process && r->process->pid() == pid;
  });
  if (it == ranks_.end()) return;
  auto& r = **it;
  r.process->signal(SIGKILL);  // kills the remaining processes of its group
  ending e;
  set_status(e, raw_status);
  r.end.exit_status = e.signal != 0 ? 0 : e.status;
  r.end.signal = e.signal;
  // For a killed command, a shell returns 128 + SIGKILL.
  if ((e.signal == SIGKILL || e.status == 128 + SIGKILL) && !r.end.stopped) {
    auto const now = oom_kills();
    r.end.out_of_memory = now > oom_kills_;
    oom_kills_ = now;
  }
  r.killing.cancel();
  r.process->ended();
  // Kills remaining processes immediately: after the lease has expired, there is no time to wait
  // for processes that keep the pipes open.
  if (std::none_of(ranks_.begin(), ranks_.end(), [](auto const& one) {
        return one->waits || (one->process && one->process->running());
      }))
    kill_rest();
}

// Kills processes that ranks have left behind, except a fork server, which serves the next attempt.
void rank_set::kill_rest() const {
  if (forks_ && forks_->pid() != 0)
    kill_orphans({forks_->pid()});
  else
    kill_orphans();
}

void rank_set::over(rank& r) {
  r.over = true;
  if (r.process) {
    r.end.last_errors = r.process->last_errors();
    r.end.last_output = r.process->last_output();
  }
  if (std::all_of(ranks_.begin(), ranks_.end(), [](auto const& one) { return one->over; }))
    kill_rest();
  output_.mark([this, &r] {
    on_.on_ended(r.end);
    if (++reported_ends_ == ranks_.size()) output_.finish(on_.on_all_ended);
  });
}

void rank_set::stop(stop_order const& order) {
  for (auto const& r : ranks_)
    if (order.ranks.empty() || std::count(order.ranks.begin(), order.ranks.end(), r->end.rank) > 0)
      stop(*r, order.signal, order.grace);
}

void rank_set::stop(int signal) {
  for (auto const& r : ranks_) stop(*r, signal, grace_);
}

void rank_set::kill(bool lease_ran_out) {
  for (auto const& r : ranks_) {
    if (!r->waits && (!r->process || !r->process->running())) continue;
    r->end.lease_ran_out = lease_ran_out;
    stop(*r, SIGKILL, std::chrono::milliseconds(0));
  }
}

void rank_set::stop(rank& r, int signal, std::chrono::milliseconds grace) {
  if (r.waits) {
    r.end.stopped = true;
    return give_up(r, "the rank was stopped before it started");
  }
  if (!r.process || !r.process->running()) return;
  r.end.stopped = true;
  if (grace <= std::chrono::milliseconds(0)) return r.process->signal(SIGKILL);
  r.process->signal(signal);
  r.process->signal(SIGCONT);  // a stopped process could not handle the signal
  r.kill_at = std::min(r.kill_at, clock::now() + grace);
  r.killing.expires_at(r.kill_at);
  r.killing.async_wait([&r](boost::system::error_code error) {
    if (!error) r.process->signal(SIGKILL);
  });
}

}  // namespace muster::launch
