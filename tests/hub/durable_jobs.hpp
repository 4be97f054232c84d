// Hubs with durable jobs and sessions, and a simulated disk.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/no_room.hpp"
#include "tests/support/hub_sinks.hpp"

namespace muster::server {
namespace durable_cases {

inline constexpr core::time_point at{std::chrono::seconds(1'700'000'000)};

struct durable_jobs : ::testing::Test {
  commit_queue commits;
  std::uint64_t written = 0;
  std::vector<core::fact> facts;
  bool full = false;
  std::string log;
  std::unique_ptr<hub> h = make();

  std::unique_ptr<hub> make() {
    core::config c;
    c.durable = true;
    hub_dependencies e{[] { return at; }, [](core::time_point) {}};
    e.journal.write = [this](std::vector<core::fact> const& f) {
      facts.insert(facts.end(), f.begin(), f.end());
      commits.wrote(++written);
    };
    e.journal.commits = &commits;
    e.journal.refusal = [this] { return full ? no_room("d", "0 MiB") : muster::status{}; };
    return std::make_unique<hub>(c, e);
  }
  core::open_session job(std::optional<bool> durable = {}) {
    core::open_session e;
    e.spec.durable = durable;
    e.spec.open = true;
    e.closures.push_back({h->learn({"f"}).ids.at(0), 0, 0, core::blob("[1]")});
    return e;
  }
  core::session_id open(std::string name, std::optional<bool> durable = {}) {
    auto id = std::make_shared<core::session_id>();
    h->ask(job(durable), [this, name, id](core::reply const& r) {
      log += name + (r.status.ok() ? " " : "! ");
      if (r.status.ok()) *id = std::get<core::session_reply>(r.body).session;
    });
    return *id;
  }
};

struct durable_sessions : durable_jobs {
  hub_worker w;
  recording_session s;
  core::session_id session = held({});

  core::session_id held(std::optional<bool> durable) {
    core::open_session e;
    e.spec.delivery = core::delivery::resumable;
    e.spec.open = true;
    e.spec.durable = durable;
    auto const answer = h->ask_now(std::move(e));
    auto const* opened = std::get_if<core::session_reply>(&answer.body);
    return opened ? opened->session : core::session_id{};
  }
  void SetUp() override {
    core::worker_spec spec;
    spec.slots = 4;
    w.attach(*h, spec);
    h->attach(session, s);
  }
  void schedule(core::session_id to, std::vector<std::uint64_t> const& tokens) {
    core::schedule e;
    e.session = to;
    auto const f = h->learn({"f"}).ids.at(0);
    for (auto const token : tokens) e.closures.push_back({f, 0, token, core::blob("[1]")});
    h->apply(e);
  }
  void answer_all() { w.succeed(*h); }
  void answer(std::size_t n) { w.succeed(*h, "2", n); }
};

}  // namespace durable_cases
}  // namespace muster::server
