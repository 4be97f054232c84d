// One sentence with the facts, for each state a closure can be in.
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace explain_cases {

std::string why(cluster const& c, closure_id id) {
  return text(*c.core.explain(id, c.now()));
}

TEST(explain, queued_without_any_worker) {
  cluster c;
  auto const job = c.open({"f"});
  c.wait(1'500ms);
  EXPECT_EQ(why(c, job[0]),
            "QUEUED for 1500 ms: no worker is connected, none has had the function 'f' since this "
            "server began.");
  c.wait(10s);
  EXPECT_EQ(why(c, job[0]),
            "QUEUED for 11 s: no worker is connected, none has had the function 'f' since this "
            "server began.");
}

TEST(explain, queued_without_a_worker_that_has_the_function) {
  cluster c;
  c.attach({.functions = {"g"}});
  auto const job = c.open({"f"});
  EXPECT_EQ(why(c, job[0]),
            "QUEUED for 0 ms: no worker has had the function 'f' since this server began. Is its "
            "name right?");
  c.attach({.functions = {"g"}});
  EXPECT_EQ(why(c, job[0]),
            "QUEUED for 0 ms: no worker has had the function 'f' since this server began. Is its "
            "name right?");
}

TEST(explain, queued_after_the_last_worker_with_the_function_has_gone) {
  cluster c;
  auto const w = c.attach();
  c.attach({.functions = {"g"}});
  c.leave(w);
  auto const job = c.open({"f"});
  EXPECT_EQ(why(c, job[0]),
            "QUEUED for 0 ms: none of the 1 connected worker has the function 'f'.");
}

TEST(explain, queued_behind_others_also_when_the_workers_are_late) {
  cluster c;
  c.attach();
  c.attach();
  auto const job = c.open(names(5, "f"));
  std::string const busy =
      "2 workers with 'f' are busy or about to be served; the function has 3 closures queued and "
      "2 running.";
  EXPECT_EQ(why(c, job[4]), "QUEUED for 0 ms: " + busy);
  c.advance(13s);
  EXPECT_EQ(why(c, job[4]), "QUEUED for 13 s: " + busy);
}

TEST(explain, queued_while_the_server_goes_down) {
  cluster c;
  auto const job = c.open({"f"});
  c.step(stop{});
  EXPECT_EQ(why(c, job[0]), "QUEUED for 0 ms: the server is shutting down.");
}

TEST(explain, running_and_asked_to_stop) {
  cluster c;
  c.attach();
  auto const job = c.open({"f"});
  c.wait(70ms);
  EXPECT_EQ(why(c, job[0]), "RUNNING on worker:0 for 70 ms, attempt 1.");
  c.ask(cancel_closure{{}, job[0]});
  EXPECT_EQ(why(c, job[0]),
            "RUNNING on worker:0 for 70 ms, attempt 1; it was asked to stop and has not answered.");
}

TEST(explain, moved_from_a_lost_worker) {
  cluster c;
  auto const job = c.open({"f"});
  c.lose(c.attach(), "cut");
  c.wait(2s);
  EXPECT_EQ(why(c, job[0]),
            "QUEUED for 2000 ms: no worker is connected. It was put back 2000 ms ago from worker:0 "
            "(worker lost: cut).");
  auto const w = c.attach();
  EXPECT_EQ(why(c, job[0]),
            "RUNNING on worker:1 for 0 ms, attempt 2. It was put back 2000 ms ago from worker:0 "
            "(worker lost: cut).");
  c.wait(5ms);
  c.succeed(w, job[0]);
  EXPECT_EQ(why(c, job[0]),
            "SUCCEEDED on worker:1 after 5 ms, attempt 2. It was put back 2005 ms ago from "
            "worker:0 (worker lost: cut).");
}

TEST(explain, failed_and_cancelled) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  c.fail(w, job[0], "division by zero");
  EXPECT_EQ(why(c, job[0]), "FAILED (USER) on worker:0: division by zero.");
  EXPECT_EQ(why(c, job[1]),
            "CANCELLED (CANCELLED): an earlier closure of job_0000000000000001 failed.");
}

TEST(explain, unknown) {
  cluster c;
  EXPECT_EQ(
      c.core.explain(closure_id{1}, c.now()).error(),
      (status{code::not_found, "there is no cl_0000000000000001, or its value was released"}));
}

}  // namespace explain_cases
}  // namespace muster::core
