#include "tests/web/rest/program_fixture.hpp"

namespace muster::web::test {
namespace attempt_cases {

struct rest_attempts : program_fixture {
  core::rank_end end_of(std::uint32_t n, std::uint32_t status) {
    core::rank_end e;
    e.name = rank(n);
    e.exit_status = status;
    e.stderr_lines = {"oops"};
    e.stdout_lines = {"step 7"};
    return e;
  }
};

TEST_F(rest_attempts, are_shown_with_all_observations) {
  start_with_ranks();
  report({{rank(0), 70}, {rank(1), 71}}, {end_of(1, 3)});
  core_engine().run([&](server::hub& h) {
    h.programs().record_event(
        {id, 1}, {{}, core::attempt_event::task_failed, "worker:1", "INTERNAL: lost it"});
    h.programs().record_stacks(w.stream, {id, 1},
                               {{core::stack_state::taken, "line 4", "S in poll", {0}}});
  });
  auto stopped = end_of(0, 0);
  stopped.signal = 9;
  stopped.stopped = true;
  report({}, {stopped});
  auto const a = get_json(path + "/attempts/1");
  EXPECT_EQ(a.at("attempt"), 1);
  EXPECT_EQ(text_at(a, "/end"), "FAILED");
  EXPECT_EQ(text_at(a, "/events/0/kind"), "TASK_FAILED");
  EXPECT_EQ(text_at(a, "/events/0/about"), "worker:1");
  EXPECT_EQ(a.at("events").at(0).at("rank"), 1);
  EXPECT_EQ(text_at(a, "/events/0/text"), "INTERNAL: lost it");
  EXPECT_EQ(text_at(a, "/stacks/0/state"), "TAKEN");
  EXPECT_EQ(text_at(a, "/stacks/0/stack"), "line 4");
  EXPECT_EQ(text_at(a, "/stacks/0/ranks/0/task"), "worker:0");
  EXPECT_EQ(text_at(a, "/stacks/0/ranks/0/host"), "host-a");
  EXPECT_EQ(text_at(a, "/stacks/0/ranks/0/process"), "S in poll");
  ASSERT_EQ(a.at("ended").as_array().size(), 2u);
  EXPECT_EQ(text_at(a, "/ended/0/task"), "worker:1");
  EXPECT_EQ(a.at("ended").at(0).at("exit_status"), 3);
  EXPECT_EQ(text_at(a, "/ended/0/stderr/0"), "oops");
  EXPECT_EQ(text_at(a, "/ended/0/stdout/0"), "step 7");
  EXPECT_EQ(a.at("ended").at(1).at("signal"), 9);
  EXPECT_EQ(a.at("ended").at(1).at("stopped"), true);
  EXPECT_TRUE(a.at("barriers").as_array().empty());
}

TEST_F(rest_attempts, hung_attempt_has_the_verdict) {
  start_with_ranks({}, R"("on_hang":"abort",)");
  report({{rank(0), 70}, {rank(1), 71}}, {});
  core_engine().run([&](server::hub& h) {
    h.apply(core::coordination_failed{id, 1, {code::deadline_exceeded, "worker:1", "is late"}});
    core::hang what{.evidence = core::hang_evidence::barrier, .rank = 1};
    what.task = "worker:1";
    what.host = "host-a";
    what.line = "train.py:3 in step";
    what.process = "S in poll";
    what.barrier = "b";
    what.waits = 1;
    what.waiting = {"worker:0"};
    what.waiting_line = "train.py:9 in meet";
    what.since = what.found = h.now();
    h.apply(core::program_hangs{id, 1, what});
  });
  core::rank_end lost{.name = rank(0), .lease_ran_out = true, .out_of_memory = true};
  report({}, {lost, {.name = rank(1), .not_started = "no such file"}});
  auto const all = get_json(path + "/attempts").at("attempts").at(0);
  auto const one = get_json(path + "/attempts/1");
  for (auto const& cause : {get_json(path).at("cause"), all.at("cause"), one.at("cause")}) {
    EXPECT_EQ(text_at(cause, "/kind"), "HANG");
    EXPECT_EQ(text_at(cause, "/coordination/task"), "worker:1");
    auto const& hang = cause.at("hang");
    EXPECT_EQ(text_at(hang, "/evidence"), "BARRIER");
    EXPECT_EQ(hang.at("rank"), 1);
    EXPECT_EQ(text_at(hang, "/line"), "train.py:3 in step");
    EXPECT_EQ(text_at(hang, "/waiting/0"), "worker:0");
  }
  EXPECT_EQ(text_at(one, "/end"), "HUNG");
  EXPECT_EQ(one.at("ended").as_array().size(), 2u);
}

TEST_F(rest_attempts, unknown_attempt_is_404) {
  start_with_ranks();
  post_json(path + "/stop", R"({"at_step":"next"})", 409);  // it does not run yet
  EXPECT_TRUE(get_json(path + "/attempts/1").at("ended").as_array().empty())
      << "the attempt continues";
  EXPECT_EQ(get(path + "/attempts/2").status, 404u);
  EXPECT_EQ(get(path + "/attempts/x").status, 404u);
  EXPECT_EQ(get("/api/v1/programs/nobody/attempts/1").status, 404u);
}

}  // namespace attempt_cases
}  // namespace muster::web::test
