// Programs over REST whose ranks a sink runs: all members and logs. Ranks of real workers:
// tests/e2e/programs_test.cpp.
#include <future>

#include "tests/web/rest/program_fixture.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

using rest_programs = program_fixture;

TEST_F(rest_programs, show_each_rank_and_each_attempt_with_its_cause) {
  start_with_ranks();
  report({{rank(0), 70}, {rank(1), 71}}, {});
  EXPECT_EQ(text_at(get_json(path), "/state"), "RUNNING");
  core::rank_end first{.name = rank(0), .signal = 9, .out_of_memory = true};
  first.stderr_lines = {"too much"};
  report({}, {first, {.name = rank(1), .not_started = "no such file", .stopped = true}});
  auto const ranks = get_json(path + "/ranks").at("ranks").as_array();
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(text_at(ranks[0], "/task"), "worker:0");
  EXPECT_EQ(text_at(ranks[0], "/state"), "FAILED");
  EXPECT_EQ(text_at(ranks[0], "/worker"), "worker:0");
  EXPECT_EQ(text_at(ranks[0], "/host"), "host-a");
  EXPECT_EQ(text_at(ranks[0], "/address"), "host-a:20000");
  EXPECT_EQ(ranks[0].at("rank"), 0);
  EXPECT_EQ(ranks[0].at("pid"), 70);
  EXPECT_EQ(ranks[0].at("signal"), 9);
  EXPECT_EQ(ranks[0].at("exit_status"), 0);
  EXPECT_EQ(ranks[0].at("out_of_memory"), true);
  EXPECT_EQ(ranks[0].at("resources").at("gpu"), 1);
  EXPECT_GE(ranks[0].at("ended_ms").to_number<std::int64_t>(),
            ranks[0].at("started_ms").to_number<std::int64_t>());
  EXPECT_EQ(text_at(ranks[1], "/not_started"), "no such file");
  auto const attempt = get_json(path + "/attempts").at("attempts").at(0);
  EXPECT_EQ(attempt.at("attempt"), 1);
  EXPECT_EQ(attempt.at("ranks"), 2);
  EXPECT_EQ(attempt.at("hosts"), 1);
  EXPECT_EQ(text_at(attempt, "/end"), "FAILED");
  EXPECT_GE(attempt.at("ended_ms").to_number<std::int64_t>(),
            attempt.at("running_ms").to_number<std::int64_t>());
  EXPECT_GT(attempt.at("begun_ms").to_number<std::int64_t>(), 0);
  EXPECT_EQ(get_json(path + "/attempts/1").at("cause").at("signal"), 9);
  auto const p = get_json(path);
  EXPECT_EQ(text_at(p, "/state"), "FAILED");
  for (auto const& cause : {p.at("cause"), attempt.at("cause")}) {
    EXPECT_EQ(text_at(cause, "/kind"), "OUT_OF_MEMORY");
    EXPECT_EQ(cause.at("rank"), 0);
    EXPECT_EQ(text_at(cause, "/task"), "worker:0");
    EXPECT_EQ(text_at(cause, "/host"), "host-a");
    EXPECT_EQ(cause.at("signal"), 9);
    EXPECT_EQ(cause.at("stderr"), json::array{"too much"});
    EXPECT_FALSE(text_at(cause, "/text").empty());
  }
}

TEST_F(rest_programs, cause_has_the_start_error_or_the_exit_status) {
  start_with_ranks();
  report({{rank(1), 71}}, {{.name = rank(1), .exit_status = 3}});
  EXPECT_EQ(get_json(path).at("cause").at("exit_status"), 3);
  EXPECT_EQ(get_json(path + "/attempts").at("attempts").at(0).at("cause").at("exit_status"), 3);
}

TEST_F(rest_programs, show_the_last_coordination_error) {
  start_with_ranks();
  core_engine().run([this](server::hub& h) {
    h.apply(
        core::coordination_failed{id, 1, {muster::code::unavailable, "worker:1", "it is silent"}});
  });
  report({{rank(1), 71}}, {{.name = rank(1), .exit_status = 3}});
  auto const attempt = get_json(path + "/attempts").at("attempts").at(0);
  for (auto const& cause : {get_json(path).at("cause"), attempt.at("cause")}) {
    EXPECT_EQ(text_at(cause, "/coordination/code"), "UNAVAILABLE");
    EXPECT_EQ(text_at(cause, "/coordination/task"), "worker:1");
    EXPECT_EQ(text_at(cause, "/coordination/message"), "it is silent");
  }
}

TEST_F(rest_programs, show_why_ranks_started_without_preload) {
  start_with_ranks();
  auto const of = text_at(
      post_json("/api/v1/programs",
                R"({"command":["true"],"tasks":{"worker":{"count":1}},"preload":["numpy"]})", 201),
      "/id");
  id = core_engine().run(
      [](server::hub& h) { return h.state().programs().list({}, 1, {}).at(0).id; });
  report({{rank(0), 71}}, {});
  auto const ranks = get_json("/api/v1/programs/" + of + "/ranks").at("ranks");
  EXPECT_EQ(text_at(ranks, "/0/not_preloaded"), "its worker's version does not support preload");
}

TEST_F(rest_programs, return_the_output_of_a_rank) {
  start_with_ranks();
  auto asked = std::async(std::launch::async,
                          [this] { return get_json(path + "/logs?rank=1&offset=4&bytes=100"); });
  auto const q = await_queries(1).at(0);
  EXPECT_EQ(q.rank, rank(1));
  EXPECT_EQ(q.offset, 4u);
  EXPECT_EQ(q.bytes_max, 100u);
  core_engine().run([&](server::hub& h) {
    h.workers().logs().deliver(
        w.stream, q.number,
        server::rank_log{
            .known = true, .offset = 4, .data = "line\n", .size = 9, .complete = false});
  });
  auto const log = asked.get();
  EXPECT_EQ(log.at("known"), true);
  EXPECT_EQ(log.at("offset"), 4);
  EXPECT_EQ(text_at(log, "/data"), "line\n");
  EXPECT_EQ(log.at("next_offset"), 9);
  EXPECT_EQ(log.at("size"), 9);
  EXPECT_EQ(log.at("complete"), false);
}

TEST_F(rest_programs, return_the_output_of_a_rank_of_an_earlier_attempt) {
  start_with_ranks();
  post_json(path + "/restart", "{}", 200);
  report({}, {{.name = rank(0), .stopped = true}, {.name = rank(1), .stopped = true}});
  ASSERT_EQ(get_json(path).at("attempt"), 2);
  auto asked =
      std::async(std::launch::async, [this] { return get_json(path + "/logs?rank=1&attempt=1"); });
  auto const q = await_queries(1).at(0);
  EXPECT_EQ(q.rank, rank(1));
  core_engine().run([&](server::hub& h) {
    h.workers().logs().deliver(w.stream, q.number,
                               server::rank_log{.known = true, .data = "", .complete = true});
  });
  EXPECT_EQ(text_at(asked.get(), "/task"), "worker:1");
  auto const refused = get(path + "/logs?rank=2&attempt=1");
  EXPECT_EQ(refused.status, 404u);
  EXPECT_NE(refused.body.find("attempt 1 of " + core::text(id) + " has no rank 2"),
            std::string::npos)
      << refused.body;
  EXPECT_NE(get(path + "/logs?rank=0&attempt=3").body.find("the last attempt is 2"),
            std::string::npos);
}

TEST_F(rest_programs, return_last_lines_of_ranks_on_request) {
  start_with_ranks();
  EXPECT_FALSE(get_json(path + "/ranks").at("ranks").at(0).as_object().contains("last_line"));
  EXPECT_TRUE(lines_queries().empty());
  auto asked =
      std::async(std::launch::async, [this] { return get_json(path + "/ranks?last_lines=true"); });
  EXPECT_EQ(await_lines_queries(1).at(0).ranks, (std::vector<std::uint32_t>{0, 1}));
  say_last_lines({{1, 9, "\x1b[31mepoch 3\x1b[0m"}});
  auto const ranks = asked.get().at("ranks");
  EXPECT_EQ(text_at(ranks, "/1/last_line"), "epoch 3");
  EXPECT_FALSE(ranks.at(0).as_object().contains("last_line"));
}

TEST_F(rest_programs, omit_last_lines_if_the_worker_does_not_answer) {
  start_with_ranks();
  auto const ranks = get_json(path + "/ranks?last_lines=true").at("ranks");
  EXPECT_EQ(ranks.as_array().size(), 2u);
  EXPECT_FALSE(ranks.at(0).as_object().contains("last_line"));
}

TEST_F(rest_programs, show_the_steps_reported_by_ranks) {
  start_with_ranks();
  EXPECT_FALSE(get_json(path).as_object().contains("steps"));
  core_engine().run([this](server::hub& h) {
    auto const say = [&](core::stream_id from, std::uint32_t rank, std::uint64_t step) {
      h.programs().steps().record(
          from, {id, 1, 90ms, {{rank, step, 80ms, {{step - 1, 30ms}, {step, 80ms}}}}});
    };
    say(w.stream, 0, 12);
    say(w.stream, 1, 10);
    say(core::stream_id{99}, 1, 50);  // another worker's
    say(w.stream, 7, 3);
    h.apply(core::change_program{{}, id, core::program_command::stop_at, {1, 20}});
  });
  auto const p = get_json(path);
  EXPECT_EQ(p.at_pointer("/steps/least"), 10);
  EXPECT_EQ(p.at_pointer("/steps/most"), 12);
  EXPECT_EQ(p.at_pointer("/steps/ranks"), 2);
  EXPECT_EQ(p.at_pointer("/steps/median_ms"), 50);
  EXPECT_EQ(p.at_pointer("/steps/slow").as_array().size(), 0u);
  EXPECT_EQ(p.at_pointer("/steps/stop_after"), 20);
  EXPECT_EQ(p.at_pointer("/stop_at_step"), 20);
  auto const ranks = get_json(path + "/ranks").at("ranks");
  EXPECT_EQ(ranks.at_pointer("/1/step"), 10);
  EXPECT_EQ(ranks.at_pointer("/1/step_ms"), 50);
  EXPECT_EQ(get_json("/api/v1/programs").at_pointer("/programs/0/steps/most"), 12);
}

TEST_F(rest_programs, report_a_worker_too_busy_for_a_log_request) {
  start_with_ranks();
  auto asked = std::async(std::launch::async, [this] { return get(path + "/logs?rank=1").status; });
  auto const q = await_queries(1).at(0);
  core_engine().run([&](server::hub& h) {
    h.workers().logs().deliver(w.stream, q.number,
                               muster::status{muster::code::resource_exhausted, "ask again"});
  });
  EXPECT_EQ(asked.get(), 429u);
}

TEST_F(rest_programs, log_requests_beyond_the_limit_are_refused) {
  start_with_ranks();
  core_engine().run([this](server::hub& h) {
    server::rank_log_query q;
    q.rank = rank(0);
    for (std::size_t i = 0; i < server::rank_logs::waiting_max; ++i)
      h.workers().read_log(q, [](muster::result<server::rank_log>) {});
  });
  EXPECT_EQ(get(path + "/logs?rank=0").status, 429u);
}

TEST_F(rest_programs, ended_program_is_marked_in_its_cluster) {
  start_with_ranks();
  // Declares the cluster of the program as the program would.
  post_json("/api/v1/clusters", R"({"jobs":{"worker":2},"name":")" + core::text(id) + "\"}", 201);
  auto const ends = [this] {
    auto const c = get_json("/api/v1/clusters/" + core::text(id));
    return c.as_object().contains("ends");
  };
  EXPECT_FALSE(ends());
  post_json(path + "/cancel", "", 200);
  EXPECT_TRUE(ends()) << "its ranks are asked to";
  report({}, {{.name = rank(0), .signal = 15, .stopped = true},
              {.name = rank(1), .signal = 15, .stopped = true}});
  EXPECT_TRUE(ends());
}

}  // namespace
}  // namespace muster::web::test
