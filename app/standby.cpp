#include "app/standby.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <future>

#include "app/logging.hpp"
#include "app/process_setup.hpp"
#include "app/store_access.hpp"
#include "server/journal/etcd/etcd_store.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto look_every = 150ms;
constexpr auto signal_check_interval = 10ms;
constexpr auto patience_at_start = 5s;
// Delay after this server has resigned because no etcd member had recent data. During the delay,
// another server can become the leader and reach another member.
constexpr auto pause_after_old_data = 1s;

// Ends the process. Must not block on the log, because no request may be answered before the exit.
[[noreturn]] void end_process(std::string const& why) {
  write_log_line(spdlog::level::err, "exiting immediately: " + why);
  ::_exit(exit_lease_lost);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// Result of a call to etcd, which can take seconds. A stop signal does not wait for the result.
template <class T>
struct awaited {
  T answer;
  std::optional<std::string> signal;
};

/// Runs `ask` on another thread. A stop signal calls `give_up` and is returned together with the
/// answer.
template <class Ask, class GiveUp>
auto await(Ask ask, GiveUp give_up) -> awaited<decltype(ask())> {
  auto asking = std::async(std::launch::async, ask);
  std::optional<std::string> signal;
  while (asking.wait_for(0ms) != std::future_status::ready && !signal)
    if ((signal = wait_for_stop_signal(signal_check_interval))) give_up();
  return {asking.get(), std::move(signal)};
}

bool stopped(journal::etcd::leadership& l, std::string const& signal) {
  l.resign();
  spdlog::info("stopped signal={}", signal);
  return false;
}

}  // namespace

std::optional<web::not_serving> standby::waiting() const {
  std::lock_guard const lock(mutex_);
  if (!state_ || !state_->leader.empty()) return state_;
  auto told = *state_;
  auto const since = std::chrono::floor<std::chrono::milliseconds>(clock::now() - state_since_);
  told.detail += " (for " + std::to_string(since.count()) + " ms)";
  return told;
}

void standby::set(web::not_serving state) {
  std::lock_guard const lock(mutex_);
  state_ = std::move(state);
  state_since_ = clock::now();
}

void standby::reading(std::string what) {
  spdlog::info("reading what=\"{}\"", what);
  set({"the server is reading " + what, {}});
}

void standby::serving() {
  std::lock_guard const lock(mutex_);
  state_.reset();
}

void standby::describe(store_view& v) const {
  if (!leadership_) return;
  v.kind = "etcd";
  v.leader = leadership_->state().leader;
  v.lease_left = std::chrono::duration_cast<core::duration>(leadership_->left());
}

journal::etcd::access standby::access() const {
  auto const a = access_to(configuration_.store);
  if (!a) throw start_error(a.error().message);
  return *a;
}

std::string standby::address(std::string const& http) const {
  if (!configuration_.store.advertise.empty()) return configuration_.store.advertise;
  auto e = parse_endpoint(http).value();
  if (e.address != "0.0.0.0" && e.address != "::") return http;
  return host_name() + ":" + std::to_string(e.port);
}

bool standby::wait_to_lead(std::string const& http, net::service_manager& manager) {
  auto const& s = configuration_.store;
  if (!s.where) return true;
  auto const self = address(http);
  auto const name = s.where->text();
  auto const lease = std::chrono::duration_cast<std::chrono::seconds>(s.lease);
  auto const anew = [&] {
    return std::make_unique<journal::etcd::leadership>(
        access(), journal::etcd::leadership_options{self, random_64(), lease, end_process});
  };
  auto leadership = anew();
  std::optional<std::string> told;
  bool answered = false;
  for (;;) {
    auto const [seen, early] =
        await([&] { return leadership->try_to_lead(); }, [&] { leadership->give_up(); });
    if (early) return stopped(*leadership, *early);
    bool const refused = !seen && seen.error().code != code::unavailable &&
                         seen.error().code != code::deadline_exceeded;
    if (!seen && !answered && refused)
      throw start_error("--store " + name + ": " + seen.error().message);
    if (!seen && !answered && clock::now() - begun_ > patience_at_start)
      throw start_error("--store " + name + ": no answer within " +
                        std::to_string(patience_at_start.count()) + " s; " + seen.error().message);
    answered = answered || seen;
    if (seen && seen->leads) {
      auto const [opened, signal] = await([&] { return open_etcd(*leadership); }, [] {});
      if (signal) return stopped(*leadership, *signal);
      if (opened.ok()) break;
      leadership->resign();
      if (opened.code != code::unavailable)
        throw start_error("--store " + name + ": " + opened.message);
      // A leader with old data would lose acknowledged jobs.
      auto const why = "etcd has no recent data for a new leader: " + opened.message;
      spdlog::warn(
          "standby http={} store={} why=\"{}; this server has resigned and will try again\"", http,
          name, why);
      set({why, {}});
      told.reset();
      manager.ready();
      leadership = anew();
      if (auto const stop = wait_for_stop_signal(pause_after_old_data))
        return stopped(*leadership, *stop);
      continue;
    }
    auto const now = seen ? seen->leader : "etcd does not answer: " + seen.error().message;
    if (answered && told != now) {
      told = now;
      if (seen) {
        spdlog::info("standby http={} leader={} store={}", http, now.empty() ? "none" : now, name);
        set({now.empty() ? "no server is the leader" : "another server is the leader", now});
        manager.ready();
        // Closes kept ports, so that clients try the leader. If this server was the leader and
        // died, its ports stay open, so that callers wait for its restart.
        if (!now.empty() && now != self) manager.drop_rest();
      } else {
        spdlog::warn("standby http={} store={} why=\"{}\"", http, name, now);
        set({now, {}});
      }
    }
    if (auto const signal = wait_for_stop_signal(look_every)) return stopped(*leadership, *signal);
  }
  auto const waited = std::chrono::floor<std::chrono::milliseconds>(clock::now() - begun_);
  spdlog::info("leads store={} as={} waited_ms={}", name, self, waited.count());
  leadership_ = std::move(leadership);
  return true;
}

muster::status standby::open_etcd(journal::etcd::leadership const& l) {
  journal::etcd::store_options o;
  o.bytes_max = configuration_.store.bytes;
  o.over = end_process;
  auto opened = journal::etcd::etcd_store::open(access(), l.begun(), std::move(o));
  if (!opened) return opened.error();
  store_ = std::move(*opened);
  return {};
}

void standby::resign() {
  if (leadership_) leadership_->resign();
}

}  // namespace muster::server
