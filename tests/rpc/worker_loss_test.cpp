#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

extern char** environ;

namespace muster::test {
namespace worker_loss_cases {

// A child process that attaches as a worker, and accepts closures without answering.
class killable_worker {
 public:
  explicit killable_worker(std::string address) {
    int fds[2];
    if (pipe(fds) != 0) throw std::runtime_error("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    std::string program = HAND_WORKER_PROCESS;
    std::string function = "f";
    char* argv[] = {program.data(), address.data(), function.data(), nullptr};
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ) != 0)
      throw std::runtime_error(program);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    out_ = fdopen(fds[0], "r");
  }
  ~killable_worker() {
    kill_it();
    fclose(out_);
  }
  std::string line() {
    char text[64] = {};
    return fgets(text, sizeof text, out_) ? text : "";
  }
  void kill_it() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
  FILE* out_ = nullptr;
};

core::session_id submit(test_server& server, int closures) {
  return server.on_engine([&](server::hub& h) {
    core::open_session e;
    for (int i = 0; i < closures; ++i)
      e.closures.push_back({h.learn({"f"}).ids.at(0), 0, 0, core::blob("[]")});
    core::session_id id{};
    h.ask(std::move(e),
          [&id](core::reply const& r) { id = std::get<core::session_reply>(r.body).session; });
    return id;
  });
}

TEST(worker_loss, killed_worker_is_noticed_at_once_and_its_closures_are_rerun) {
  test_server server;
  killable_worker victim(server.address());
  ASSERT_EQ(victim.line(), "attached\n");
  auto const job = submit(server, 1);
  ASSERT_EQ(victim.line(), "1\n");
  hand_worker heir(server.address(), make_hello({"f"}, 1, 1, 2));
  victim.kill_it();
  auto const given = heir.read_closures();
  ASSERT_TRUE(given);
  EXPECT_EQ(given->attempt(0), 2u);

  auto const lost =
      server.on_engine([](server::hub& h) { return *h.state().workers().find("worker", 0); });
  EXPECT_EQ(lost.state, core::task_state::error);
  EXPECT_EQ(lost.error, "connection lost");
  auto const page =
      server.on_engine([&](server::hub& h) { return *h.state().closures().list(job, 0, 1); });
  ASSERT_EQ(page.items.at(0).attempts.size(), 2u);
  auto const& attempts = page.items[0].attempts;
  EXPECT_GE(attempts[1].started - attempts[0].ended, std::chrono::milliseconds(100));
  EXPECT_TRUE(heir.answer(*given));
}

TEST(worker_loss, cancelled_stream_is_an_error_not_a_leave) {
  test_server server;
  hand_worker worker(server.address(), make_hello());
  worker.cancel();
  EXPECT_TRUE(server.eventually([](core::coordinator const& c) {
    return c.workers().find("worker", 0)->state == core::task_state::error;
  }));
}

TEST(worker_loss, closure_that_kills_workers_fails) {
  test_server_options o;
  o.core.max_worker_failures = 2;
  test_server server(o);
  auto const job = submit(server, 1);
  for (int i = 0; i < 2; ++i) {
    killable_worker victim(server.address());
    victim.line();
    ASSERT_EQ(victim.line(), "1\n");
    victim.kill_it();
  }
  EXPECT_TRUE(server.eventually([&](core::coordinator const& c) {
    return c.sessions().find(job)->state == core::job_state::failed;
  }));
  auto const error =
      server.on_engine([&](server::hub& h) { return h.state().sessions().find(job)->error; });
  EXPECT_EQ(error->kind, core::failure_kind::worker_lost);
}

// The worker is connected and reports how its process ended. The server then ends the stream.
TEST(worker_loss, ended_process_counts_as_a_loss_only_for_its_closure) {
  test_server_options o;
  o.core.max_worker_failures = 1;
  test_server server(o);
  hand_worker worker(server.address(), make_hello({"f"}, 1, 8, 1));
  EXPECT_TRUE(worker.welcome.takes_process_end());
  auto const job = submit(server, 1);
  auto const other = submit(server, 1);
  auto const given = worker.read_closures();
  ASSERT_TRUE(given);
  v1::WorkerMessage m;
  m.mutable_process_end()->set_closure(given->closure(0));
  m.mutable_process_end()->set_attempt(given->attempt(0));
  m.mutable_process_end()->set_how("its process 7 was killed by SIGSEGV");
  worker.write(m);
  while (worker.read()) {
  }
  EXPECT_EQ(worker.finish().error_code(), grpc::StatusCode::ABORTED);
  auto const error =
      server.on_engine([&](server::hub& h) { return h.state().sessions().find(job)->error; });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, core::failure_kind::worker_lost);
  EXPECT_EQ(
      error->message,
      "1 worker was lost while it ran it, and max_worker_failures is 1: worker:0 (its process "
      "7 was killed by SIGSEGV)");
  hand_worker next(server.address(), make_hello({"f"}, 1, 8, 2));
  auto const again = next.read_closures();
  ASSERT_TRUE(again);
  EXPECT_TRUE(next.answer(*again));
  EXPECT_TRUE(server.eventually([&](core::coordinator const& c) {
    return c.sessions().find(other)->state == core::job_state::succeeded;
  }));
}

}  // namespace worker_loss_cases
}  // namespace muster::test
