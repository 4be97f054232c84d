#include <future>

#include "tests/web/rest/program_fixture.hpp"

namespace muster::web::test {
namespace {

struct rest_stacks : program_fixture {
  std::future<json::value> ask() {
    return std::async(std::launch::async, [this] { return get_json(path + "/stacks"); });
  }
  server::stacks_query await_question() {
    for (;;) {
      auto all = core_engine().run([this](server::hub&) { return w.stacks; });
      if (!all.empty()) return all.back();
    }
  }
};

TEST_F(rest_stacks, equal_stacks_are_grouped_and_the_outlier_is_first) {
  start_with_ranks();
  report({{rank(0), 70}, {rank(1), 71}}, {});
  auto asked = ask();
  auto const q = await_question();
  EXPECT_EQ(q.program, id);
  EXPECT_EQ(q.attempt, 1u);
  EXPECT_EQ(q.ranks, (std::vector<std::uint32_t>{0, 1}));
  core_engine().run([&](server::hub& h) {
    h.workers().stacks().deliver(w.stream, {q.number,
                                            false,
                                            {{0, server::stack_state::taken, "line 4", "S in poll"},
                                             {1, server::stack_state::stopped, "", "T"}}});
  });
  auto const all = asked.get();
  EXPECT_EQ(all.at("attempt"), 1);
  auto const& groups = all.at("groups").as_array();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(text_at(groups[0], "/state"), "TAKEN");
  EXPECT_EQ(text_at(groups[0], "/stack"), "line 4");
  EXPECT_EQ(groups[0].at("ranks").as_array().size(), 1u);
  EXPECT_EQ(text_at(groups[0], "/ranks/0/task"), "worker:0");
  EXPECT_EQ(text_at(groups[0], "/ranks/0/worker"), "worker:0");
  EXPECT_EQ(text_at(groups[0], "/ranks/0/host"), "host-a");
  EXPECT_EQ(text_at(groups[0], "/ranks/0/process"), "S in poll");
  EXPECT_EQ(groups[1].at("ranks").at(0).at("rank"), 1);
  EXPECT_FALSE(groups[1].as_object().contains("stack"));
}

TEST_F(rest_stacks, unresponsive_worker_times_out) {
  start_with_ranks();
  report({{rank(0), 70}, {rank(1), 71}}, {});
  auto const all = get_json(path + "/stacks");
  ASSERT_EQ(all.at("groups").as_array().size(), 1u);
  EXPECT_EQ(text_at(all, "/groups/0/state"), "NO_ANSWER");
  EXPECT_EQ(all.at("groups").at(0).at("ranks").as_array().size(), 2u);
}

TEST_F(rest_stacks, only_living_ranks_have_stacks) {
  start_with_ranks();
  EXPECT_TRUE(get_json(path + "/stacks").at("groups").as_array().empty()) << "no rank has started";
  EXPECT_EQ(get("/api/v1/programs/prog_00000000000000ff/stacks").status, 404u);
  EXPECT_EQ(get("/api/v1/programs/nobody/stacks").status, 404u);
}

}  // namespace
}  // namespace muster::web::test
