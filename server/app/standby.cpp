#include "server/app/standby.hpp"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "server/app/app.hpp"
#include "server/app/process.hpp"
#include "server/journal/etcd/etcd_store.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// How often one that waits looks whether somebody leads.
constexpr auto look_every = 150ms;
// What etcd may take to answer for the first time.
constexpr auto patience_at_start = 5s;

std::string text_of(std::filesystem::path const& file, std::string const& flag) {
  if (file.empty()) return {};
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty())
    throw start_error(flag + " " + file.string() + ": cannot be read, or is empty");
  return text.str();
}

// Must not wait for whoever reads the log: nobody may be told anything meanwhile.
[[noreturn]] void end_process(std::string const& why) {
  auto const line = "muster serve: leaving at once, since " + why + "\n";
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) == 1) [[maybe_unused]]
    auto const n = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(exit_lease_lost);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
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
  auto const& s = configuration_.store;
  journal::etcd::access a{*s.where, {}, {}, {}, {}};
  a.password = text_of(s.password_file, "--store-password-file");
  a.password.resize(std::min(a.password.find_first_of("\r\n"), a.password.size()));
  a.authorities = text_of(s.ca, "--store-ca");
  a.certificate = text_of(s.certificate, "--store-cert");
  a.key = text_of(s.key, "--store-key");
  return a;
}

std::string standby::address(std::string const& http) const {
  if (!configuration_.store.advertise.empty()) return configuration_.store.advertise;
  auto e = parse_endpoint(http).value();
  if (e.address != "0.0.0.0" && e.address != "::") return http;
  return host_name() + ":" + std::to_string(e.port);
}

bool standby::wait_to_lead(std::string const& http, coro::service_manager& manager) {
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
    auto const seen = leadership->try_to_lead();
    bool const refused = !seen && seen.error().code != code::unavailable &&
                         seen.error().code != code::deadline_exceeded;
    if (!seen && (refused || (!answered && clock::now() - begun_ > patience_at_start)) && !answered)
      throw start_error("--store " + name + ": " + seen.error().message);
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
    if (auto const signal = wait_for_stop_signal(look_every)) {
      spdlog::info("stopped signal={}", *signal);
      return false;
    }
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
