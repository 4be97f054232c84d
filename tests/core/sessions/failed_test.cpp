// One log event for each failed job or session, not for each closure.
#include "server/core/api/id_text.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

using log_events = std::vector<log_event>;

session_spec named(session_spec s) {
  s.name = "train";
  return s;
}

TEST(failed, job_failure_is_logged_once_when_the_job_has_ended) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f", "f"}, named(fail_fast()));
  c.fail(w, job[0], "first");
  EXPECT_TRUE(c.said().empty()) << "one of its closures still runs";
  c.fail(w, job[1], "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.said(), (log_events{{log_event_kind::job_failed, "job_0000000000000001",
                                   "train failed: first (1 of 3 closures failed)"}}));
}

TEST(failed, continuing_job_logs_its_first_error_and_the_number_of_failures) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"}, continue_all());
  auto bad = c.bad(w, job[1], std::string(300, 'x'));
  bad.failure->type = "ValueError";
  c.answer(w, {bad});
  EXPECT_TRUE(c.said().empty());
  c.fail(w, job[0], "second");
  ASSERT_EQ(c.said().size(), 1u);
  EXPECT_EQ(c.said()[0].text,
            "failed: ValueError: " + std::string(188, 'x') + "… (2 of 2 closures failed)");
}

TEST(failed, a_text_is_not_cut_inside_a_character) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  std::string euros = "x";
  while (euros.size() < 300) euros += "€";
  c.fail(w, job[0], euros);
  EXPECT_EQ(c.said().at(0).text, "failed: " + euros.substr(0, 199) + "… (1 of 1 closures failed)");
}

TEST(failed, a_deadline_is_a_failure_without_failed_closures) {
  cluster c;
  session_spec s;
  s.deadline = 1s;
  c.open({"f"}, s);
  c.advance(1s);
  ASSERT_EQ(c.said().size(), 1u);
  EXPECT_EQ(c.said()[0].kind, log_event_kind::job_failed);
  EXPECT_EQ(c.said()[0].text,
            "failed: the deadline of 1000 ms passed with 1 closure waiting and 0 running");
}

TEST(failed, success_and_cancel_are_not_logged) {
  cluster c;
  auto const w = c.attach();
  auto const good = c.open({"f"});
  c.succeed(w, good[0]);
  EXPECT_TRUE(c.said().empty());
  auto const job = c.open({"f", "f"});
  c.ask(cancel_session{{}, job.id});
  c.fail(w, job[0], "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.job(job.id).state, job_state::cancelled);
  EXPECT_TRUE(c.said().empty());
}

TEST(failed, session_failure_is_logged_when_an_error_ends_its_generation) {
  cluster c;
  auto const w = c.attach();
  for (auto const& spec : {streaming(named(fail_fast())), resumable_values(named(fail_fast()))}) {
    auto const s = c.open({}, spec).id;
    for (int generation = 0; generation < 2; ++generation) {
      c.schedule(s, {"f", "f"});
      c.fail(w, c.held(w).at(0), "broken");
      EXPECT_EQ(c.said(),
                (log_events{{log_event_kind::session_failed, text(s), "train failed: broken"}}));
    }
  }
}

TEST(failed, session_that_continues_on_error_logs_nothing) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream(continue_all());
  c.schedule(s, {"f"});
  c.fail(w, c.held(w).at(0), "broken");
  EXPECT_TRUE(c.said().empty());
}

TEST(failed, log_is_rate_limited_and_counts_the_rest) {
  cluster c;
  auto const w = c.attach();
  auto const fail_one = [&] {
    auto const job = c.open({"f"});
    c.fail(w, job[0], "broken");
    return c.said();
  };
  for (std::uint32_t i = 0; i < history::log_event_pace::singly; ++i)
    EXPECT_EQ(fail_one().size(), 1u);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(fail_one().empty());
  for (int i = 0; i < 12; ++i) c.advance(5s), c.alive(w);
  auto const said = fail_one();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].text,
            "failed: broken (1 of 1 closures failed); 7 earlier failures are not listed");
  EXPECT_EQ(fail_one().at(0).text, "failed: broken (1 of 1 closures failed)");
}

}  // namespace
}  // namespace muster::core
