// Replies about durable jobs wait for a disk that the test plays; others do not.
#include <gtest/gtest.h>

#include "tests/hub/recording_sinks.hpp"

namespace muster::server {
namespace {

constexpr core::time_point at{std::chrono::seconds(1'700'000'000)};

struct durable_jobs : ::testing::Test {
  durable_line line;
  std::uint64_t written = 0;
  std::vector<core::fact> facts;
  bool full = false;
  std::string log;
  std::unique_ptr<hub> h = make();

  std::unique_ptr<hub> make() {
    core::config c;
    c.durable = true;
    hub_environment e{[] { return at; }, [](core::time_point) {}};
    e.write_down = [this](std::vector<core::fact> const& f) {
      facts.insert(facts.end(), f.begin(), f.end());
      line.wrote(++written);
    };
    e.line = &line;
    e.journal_is_full = [this] { return full; };
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

TEST_F(durable_jobs, are_told_when_they_are_written_and_not_before) {
  open("a");
  EXPECT_EQ(log, "");
  ASSERT_EQ(facts.size(), 2u) << "the job, and its closure";
  open("b", false);
  EXPECT_EQ(facts.size(), 2u);
  EXPECT_EQ(log, "") << "no answer overtakes another";
  EXPECT_TRUE(h->learn({"g"}).status.ok()) << "but those that are asked for at once";
  line.on_durable(1, {}, at);
  EXPECT_EQ(log, "a b ");
  open("c", false);
  EXPECT_EQ(log, "a b c ") << "the disk has everything";
}

TEST_F(durable_jobs, an_outcome_is_told_when_it_is_written) {
  recording_worker w;
  auto const stream = h->attach(w);
  core::worker_attached e{stream, {}};
  e.spec.functions = {"f"};
  e.spec.incarnation = core::incarnation{1};
  h->apply(e);
  open("a");
  ASSERT_EQ(w.held.size(), 1u) << "work does not wait for the disk";
  core::await_value v;
  v.closure = w.held[0].closure;
  h->ask(v, [this](core::reply const&) { log += "value "; });
  line.on_durable(1, {}, at);
  EXPECT_EQ(log, "a ");
  core::worker_result done;
  done.closure = w.held[0].closure;
  done.attempt = w.held[0].attempt;
  done.value = core::blob("2");
  core::worker_results r;
  r.stream = stream;
  r.results.push_back(done);
  h->apply(r);
  EXPECT_EQ(log, "a ");
  line.on_durable(2, {}, at);
  EXPECT_EQ(log, "a value ");
}

TEST_F(durable_jobs, are_refused_when_too_much_waits_or_the_disk_has_failed) {
  auto const kept = open("a");
  line.on_durable(1, {}, at);
  full = true;
  open("b");
  open("c", false);
  EXPECT_EQ(log, "a b! c ");
  full = false;
  open("d");
  line.on_durable(1, {code::internal, "no space"}, at);
  EXPECT_EQ(log, "a b! c d! ") << "it is not on the disk, and never will be";
  open("e");
  open("f", false);
  (void)kept;
  EXPECT_EQ(log, "a b! c d! e! f ");
  EXPECT_EQ(line.failed().code, code::unavailable);
}

TEST_F(durable_jobs, go_with_their_cluster) {
  open("a");
  line.on_durable(1, {}, at);
  facts.clear();
  h->close("the cluster was deleted");
  ASSERT_FALSE(facts.empty());
  EXPECT_TRUE(std::holds_alternative<core::job_gone>(facts.front()));
}

TEST_F(durable_jobs, who_waits_for_a_hub_that_is_gone_is_not_told) {
  open("a");
  h.reset();
  line.on_durable(1, {}, at);
  EXPECT_EQ(log, "");
}

}  // namespace
}  // namespace muster::server
