// Ranks begin and end; the end of the last one waits for what they all left behind.
#include "launch/ranks/rank_set.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "launch/ending.hpp"
#include "launch/guardian.hpp"
#include "launch/ranks/oom_kills.hpp"
#include "launch/ranks/rank_launcher.hpp"

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

rank_set::rank_set(boost::asio::io_context& io, start_order order, callbacks c)
    : io_(io),
      on_(std::move(c)),
      grace_(order.grace),
      output_(io, {.shown = false,
                   .prefix = false,
                   .directory = order.logs,
                   .file_bytes_max = rank_log_bytes_max}),
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
}

void rank_set::start(rank& r, rank_role role) {
  r.end.rank = role.rank;
  r.end.not_started = role.refusal;
  if (!r.end.not_started.empty()) return;
  auto const command = role.program.argv.front();
  try {
    prepare_directory(role);
    auto process = std::make_unique<task_process>(io_, output_, std::move(role.program),
                                                  [this, &r] { over(r); });
    try {
      process->start();
    } catch (std::system_error const& e) {
      r.end.not_started = start_error(command, e);
      return;
    }
    r.process = std::move(process);
    on_.on_started(r.end.rank, r.process->pid());
  } catch (std::exception const& e) {
    r.end.not_started = e.what();
  }
}

void rank_set::ended(pid_t pid, int raw_status) {
  auto const it = std::find_if(ranks_.begin(), ranks_.end(), [pid](auto const& r) {
    return r->process && r->process->pid() == pid;
  });
  if (it == ranks_.end()) return;
  auto& r = **it;
  r.process->signal(SIGKILL);  // what it leaves behind in its group
  ending e;
  set_status(e, raw_status);
  r.end.exit_status = e.signal != 0 ? 0 : e.status;
  r.end.signal = e.signal;
  if (e.signal == SIGKILL && !r.end.stopped) {
    auto const now = oom_kills();
    r.end.out_of_memory = now > oom_kills_;
    oom_kills_ = now;
  }
  r.killing.cancel();
  r.process->ended();
  // At once: a lease that runs out leaves no time to wait for those who hold the pipes.
  if (std::none_of(ranks_.begin(), ranks_.end(),
                   [](auto const& one) { return one->process && one->process->running(); }))
    kill_orphans();
}

// Nothing of it runs, or ever did, and what it printed was read.
void rank_set::over(rank& r) {
  r.over = true;
  if (r.process) r.end.last_errors = r.process->last_errors();
  if (std::all_of(ranks_.begin(), ranks_.end(), [](auto const& one) { return one->over; }))
    kill_orphans();
  output_.mark([this, &r] {
    on_.on_ended(r.end);
    if (++told_ == ranks_.size()) output_.finish(on_.on_all_ended);
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
    if (!r->process || !r->process->running()) continue;
    r->end.lease_ran_out = lease_ran_out;
    stop(*r, SIGKILL, std::chrono::milliseconds(0));
  }
}

void rank_set::stop(rank& r, int signal, std::chrono::milliseconds grace) {
  if (!r.process || !r.process->running()) return;
  r.end.stopped = true;
  if (grace <= std::chrono::milliseconds(0)) return r.process->signal(SIGKILL);
  r.process->signal(signal);
  r.process->signal(SIGCONT);  // one that is suspended could not heed it
  r.kill_at = std::min(r.kill_at, clock::now() + grace);
  r.killing.expires_at(r.kill_at);
  r.killing.async_wait([&r](boost::system::error_code error) {
    if (!error) r.process->signal(SIGKILL);
  });
}

}  // namespace muster::launch
