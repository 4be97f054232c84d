#include "app/standby.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <future>

#include "app/logging.hpp"
#include "app/process.hpp"
#include "app/store_access.hpp"
#include "server/journal/etcd/etcd_store.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// How often one that waits looks whether somebody leads.
constexpr auto look_every = 150ms;
constexpr auto signals_looked_at_every = 10ms;
// What etcd may take to answer for the first time.
constexpr auto patience_at_start = 5s;

// Must not wait for whoever reads the log: nobody may be told anything meanwhile.
[[noreturn]] void end_process(std::string const& why) {
  write_log_line(spdlog::level::err, "leaving at once, since " + why);
  ::_exit(exit_lease_lost);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// etcd may be silent for seconds; a stop signal does not wait for it.
struct looked {
  muster::result<journal::etcd::leadership::seen> seen;
  std::optional<std::string> signal;
};

looked look(journal::etcd::leadership& l) {
  auto asking = std::async(std::launch::async, [&l] { return l.try_to_lead(); });
  while (asking.wait_for(0ms) != std::future_status::ready)
    if (auto signal = wait_for_stop_signal(signals_looked_at_every)) {
      l.give_up();
      return {asking.get(), std::move(signal)};
    }
  return {asking.get(), {}};
}

bool stopped(journal::etcd::leadership& l, std::string const& signal) {
  l.resign();  // it may just have begun to lead
  spdlog::info("stopped signal={}", signal);
  return false;
}

}  // namespace

std::optional<web::not_serving> standby::waiting() const {
  std::lock_guard const lock(mutex_);
  if (!state_ || !state_->leader.empty()) return state_;
  auto told = *state_;
  auto const since = std::chrono::floor<std::chrono::milliseconds>(clock::now() - state_since_);
  told.detail += ", for " + std::to_string(since.count()) + " ms";
  return told;
}

void standby::set(web::not_serving state) {
  std::lock_guard const lock(mutex_);
  state_ = std::move(state);
  state_since_ = clock::now();
}

void standby::reading(std::string what) {
  spdlog::info("reading what=\"{}\"", what);
  set({"the server reads " + what, {}});
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
  auto leadership = std::make_unique<journal::etcd::leadership>(
      access(), journal::etcd::leadership_options{
                    self, random_64(), std::chrono::duration_cast<std::chrono::seconds>(s.lease),
                    end_process});
  std::optional<std::string> told;
  bool answered = false;
  for (;;) {
    auto const [seen, early] = look(*leadership);
    if (early) return stopped(*leadership, *early);
    bool const refused = !seen && seen.error().code != code::unavailable &&
                         seen.error().code != code::deadline_exceeded;
    if (!seen && !answered && refused)
      throw start_error("--store " + name + ": " + seen.error().message);
    if (!seen && !answered && clock::now() - begun_ > patience_at_start)
      throw start_error("--store " + name + ": no answer in " +
                        std::to_string(patience_at_start.count()) + " s; " + seen.error().message);
    answered = answered || seen;
    if (seen && seen->leads) break;
    auto const now = seen ? seen->leader : "etcd does not answer: " + seen.error().message;
    if (answered && told != now) {
      told = now;
      if (seen) {
        spdlog::info("standby http={} leader={} store={}", http, now.empty() ? "none" : now, name);
        set({now.empty() ? "no server leads" : "another server leads", now});
        manager.ready();
        // Who dials here goes on to the one that leads. After the death of this server itself its
        // ports stay open: the callers wait for this one.
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

muster::result<std::unique_ptr<journal::store>> standby::open_store() const {
  auto opened = journal::etcd::etcd_store::open(access(), leadership_->begun(),
                                                {configuration_.store.bytes, end_process});
  if (!opened) return opened.error();
  return std::unique_ptr<journal::store>(std::move(*opened));
}

void standby::resign() {
  if (leadership_) leadership_->resign();
}

}  // namespace muster::server
