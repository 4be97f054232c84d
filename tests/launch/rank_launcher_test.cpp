#include "tests/launch/rank_launcher_fixture.hpp"

namespace muster::launch {
namespace {

TEST_F(rank_launchers, start_ranks_store_their_output_and_report_their_ends) {
  start(3, "echo out $RANK $MUSTER_PROGRAM; echo err $RANK >&2; [ $RANK != 1 ] || exit 3; pwd");
  auto const all = ends();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all.at(0).at("exit_status").to_number<int>(), 0);
  EXPECT_EQ(all.at(1).at("exit_status").to_number<int>(), 3);
  EXPECT_EQ(json::serialize(all.at(1).at("stderr")), R"(["err 1"])");
  EXPECT_FALSE(all.at(1).at("stopped").as_bool());
  EXPECT_NE(read_file(file("2.log")).find("out 2 p\n"), std::string::npos);
  EXPECT_NE(read_file(file("2.log")).find(file("work/2").string() + "\n"), std::string::npos);
  EXPECT_EQ(wait(), 0);
}

TEST_F(rank_launchers, unfinished_line_is_stored_with_a_carriage_return) {
  start(1, "printf half; while [ ! -e $P/go ]; do sleep 0.05; done; echo ' done'");
  auto const until = clock::now() + 20s;
  while (read_file(file("0.log")) != "half\r" && clock::now() < until)
    std::this_thread::sleep_for(10ms);
  std::ofstream(file("go")) << "";
  EXPECT_EQ(ends().at(0).at("exit_status").to_number<int>(), 0);
  EXPECT_EQ(read_file(file("0.log")), "half\rhalf done\n");
}

TEST_F(rank_launchers, ranks_do_not_inherit_the_token_of_the_worker) {
  start(1, "env | grep -c ^MUSTER_; env | grep -v '^[A-Z_]*=' || :; [ -z \"$MUSTER_TOKEN\" ]",
        {{"env", {{"MINE", "1"}}}});
  EXPECT_EQ(ends().at(0).at("exit_status").to_number<int>(), 0);
}

TEST_F(rank_launchers, run_ranks_with_the_rights_of_the_given_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  namespace fs = std::filesystem;
  fs::permissions(directory.path(), fs::perms::others_exec, fs::perm_options::add);
  user = "nobody";
  start(1,
        "id -un; id -Gn; echo $USER; : > mine && ls -l mine | cut -d ' ' -f 3; "
        "kill -0 $PPID 2> /dev/null || echo powerless");
  EXPECT_EQ(ends().at(0).at("exit_status").to_number<int>(), 0);
  EXPECT_EQ(read_file(file("0.log")), "nobody\nnogroup\nnobody\nnobody\npowerless\n");
}

TEST_F(rank_launchers, stop_one_rank_at_once_and_the_others_after_the_grace_period) {
  start(2, "trap '' TERM; echo $$ > $P/up.$RANK; while :; do sleep 0.1; done");
  pid_in("up.0");
  pid_in("up.1");
  auto const began = clock::now();
  say(R"({"stop": {"rank": [1]}})");
  json::value r;
  do r = report();
  while (!r.is_null() && !r.as_object().contains("ended"));
  EXPECT_EQ(r.at_pointer("/ended/rank").to_number<int>(), 1);
  EXPECT_EQ(r.at_pointer("/ended/signal").to_number<int>(), SIGKILL);
  say(R"({"stop": {"grace_ms": 60000}})");
  say(R"({"stop": {"grace_ms": 300}})");
  auto const all = ends();
  EXPECT_TRUE(all.at(0).at("stopped").as_bool());
  EXPECT_EQ(all.at(0).at("signal").to_number<int>(), SIGKILL);
  EXPECT_LT(clock::now() - began, 20s) << "a later order shortens the grace period";
}

TEST_F(rank_launchers, no_process_survives_the_worker) {
  auto const pids = start_stubborn();
  orders.reset();
  wait();
  expect_gone(pids);
}

TEST_F(rank_launchers, no_process_survives_a_killed_launcher) {
  auto const pids = start_stubborn();
  ::kill(first_child_of(process.pid), SIGKILL);
  wait();
  expect_gone(pids);
}

TEST_F(rank_launchers, no_process_survives_a_killed_supervisor) {
  auto const pids = start_stubborn();
  ::kill(process.pid, SIGKILL);
  auto const all = ends();  // until the launcher has ended, too
  EXPECT_EQ(all.size(), 2u);
  expect_gone(pids);
}

TEST_F(rank_launchers, last_end_is_reported_once_all_processes_have_ended) {
  auto const pids = start_stubborn();
  say(R"({"stop": {"grace_ms": 1}})");
  for (int told = 0; told < 2;) {
    auto const r = report();
    ASSERT_FALSE(r.is_null());
    if (r.as_object().contains("ended")) ++told;
  }
  expect_gone(pids);
}

TEST_F(rank_launchers, end_is_reported_while_another_process_holds_the_output) {
  start(2,
        "if [ $RANK = 0 ]; then setsid sh -c \"echo \\$\\$ > $P/holder; exec sleep 1000\" & "
        "until [ -s $P/holder ]; do sleep 0.01; done; echo last; exit 3; fi; sleep 1000");
  auto const holder = pid_in("holder");
  auto const began = clock::now();
  json::value r;
  do r = report();
  while (!r.is_null() && !r.as_object().contains("ended"));
  EXPECT_LT(clock::now() - began, 800ms);
  EXPECT_EQ(r.at_pointer("/ended/rank").to_number<int>(), 0);
  EXPECT_EQ(r.at_pointer("/ended/exit_status").to_number<int>(), 3);
  EXPECT_EQ(r.at_pointer("/ended/stdout").as_array(), json::array{"last"});
  EXPECT_TRUE(alive(holder));
  say(R"({"stop": {"grace_ms": 0}})");
  ends();
  EXPECT_FALSE(alive(holder));
}

TEST_F(rank_launchers, kill_all_ranks_at_the_end_of_the_lease) {
  auto const pids = start_stubborn();
  auto const at = [](clock::duration from_now) {
    return R"({"lease_until_ns": )" +
           std::to_string((clock::now() + from_now).time_since_epoch().count()) + "}";
  };
  say(at(60s));
  say(at(50ms));
  auto const all = ends();
  ASSERT_EQ(all.size(), 2u);
  for (auto const& [rank, end] : all) {
    EXPECT_TRUE(end.at("lease_ran_out").as_bool());
    EXPECT_TRUE(end.at("stopped").as_bool());
  }
  expect_gone(pids);
}

TEST_F(rank_launchers, failed_start_is_reported_with_the_reason) {
  start(1, "true", {{"working_dir", "/not/there"}});
  auto const all = ends();
  EXPECT_EQ(all.at(0).at("not_started").as_string(),
            "the working directory '/not/there' does not exist on this host");
  EXPECT_EQ(wait(), 0);
}

TEST_F(rank_launchers, end_after_an_invalid_order) {
  say("{");
  EXPECT_EQ(wait(), 2);
}

}  // namespace
}  // namespace muster::launch
