// Programs over REST whose ranks a sink runs: every member of what is shown, and logs. Ranks of
// real workers: tests/e2e/programs_test.cpp.
#include <future>

#include "server/core/programs/controller.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

/// A worker that takes ranks, notes what it is asked, and answers when the test says so.
struct rank_worker : server::hub_worker {
  void on_rank_orders(core::rank_orders const&) override {}
  void on_log_query(server::rank_log_query const& q) override { queries.push_back(q); }
  std::vector<server::rank_log_query> queries;
};

struct rest_programs : web_fixture {
  rank_worker w;
  std::string path;
  core::program_id id{};

  void start_with_ranks() {
    start();
    core_engine().run([this](server::hub& h) {
      w.stream = h.attach(w);
      core::worker_attached e{w.stream, {}};
      e.spec.functions = {"f"};
      e.spec.incarnation = core::incarnation{7};
      e.spec.host = "host-a";
      e.spec.resources = {{"gpu", 2}};
      e.programs = core::programs_offer{20'000, 20'099, 60s, "host-a", {}};
      h.apply(e);
    });
    path =
        "/api/v1/programs/" +
        text_at(post_json(
                    "/api/v1/programs",
                    R"({"command":["true"],"tasks":{"worker":{"count":2,"resources":{"gpu":1}}}})",
                    201),
                "/id");
    id = core_engine().run(
        [](server::hub& h) { return h.state().programs().list({}, 1, {}).at(0).id; });
  }
  void report(std::vector<core::rank_reports::start> started, std::vector<core::rank_end> ended) {
    core_engine().run([&](server::hub& h) {
      h.apply(core::rank_reports{w.stream, std::move(started), std::move(ended), 0});
    });
  }
  core::rank_name rank(std::uint32_t n) const { return {id, 1, n}; }
  /// The questions that wait at the worker, once there are so many.
  std::vector<server::rank_log_query> await_queries(std::size_t n) {
    for (;;) {
      auto all = core_engine().run([this](server::hub&) { return w.queries; });
      if (all.size() >= n) return all;
    }
  }
};

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

TEST_F(rest_programs, that_could_not_start_or_ended_with_a_status_say_so) {
  start_with_ranks();
  report({{rank(1), 71}}, {{.name = rank(1), .exit_status = 3}});
  EXPECT_EQ(get_json(path).at("cause").at("exit_status"), 3);
  EXPECT_EQ(get_json(path + "/attempts").at("attempts").at(0).at("cause").at("exit_status"), 3);
}

TEST_F(rest_programs, give_what_a_rank_has_printed) {
  start_with_ranks();
  auto asked = std::async(std::launch::async,
                          [this] { return get_json(path + "/logs?rank=1&offset=4&bytes=100"); });
  auto const q = await_queries(1).at(0);
  EXPECT_EQ(q.rank, rank(1));
  EXPECT_EQ(q.offset, 4u);
  EXPECT_EQ(q.bytes_max, 100u);
  core_engine().run([&](server::hub& h) {
    h.answered(w.stream, q.number,
               {.known = true, .offset = 4, .data = "line\n", .size = 9, .complete = false});
  });
  auto const log = asked.get();
  EXPECT_EQ(log.at("known"), true);
  EXPECT_EQ(log.at("offset"), 4);
  EXPECT_EQ(text_at(log, "/data"), "line\n");
  EXPECT_EQ(log.at("next_offset"), 9);
  EXPECT_EQ(log.at("size"), 9);
  EXPECT_EQ(log.at("complete"), false);
}

TEST_F(rest_programs, refuse_more_questions_for_logs_than_wait) {
  start_with_ranks();
  core_engine().run([this](server::hub& h) {
    server::rank_log_query q;
    q.rank = rank(0);
    for (std::size_t i = 0; i < server::rank_logs::waiting_max; ++i)
      h.read_log(q, [](muster::result<server::rank_log>) {});
  });
  EXPECT_EQ(get(path + "/logs?rank=0").status, 429u);
}

}  // namespace
}  // namespace muster::web::test
