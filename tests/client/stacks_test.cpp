#include <map>

#include "client/programs/native_stacks.hpp"
#include "tests/client/ranks_fixture.hpp"

namespace muster::test {
namespace {

// Each rank creates a file named after it when it is ready.
std::string script(std::string const& up) {
  return "import os, time\n"
         "def waits_here():\n"
         "    open('" +
         up +
         "' + os.environ['RANK'], 'w').close()\n"
         "    time.sleep(1000)\n"
         "waits_here()\n";
}

v1::RankStacks ask(heard& h, std::vector<std::uint32_t> const& ranks) {
  v1::ServerMessage m;
  auto& q = *m.mutable_ranks()->add_stacks();
  q.set_query(h.stacks.size() + 1);
  q.set_program(7);
  q.set_attempt(1);
  q.mutable_rank()->Add(ranks.begin(), ranks.end());
  h.stream->Write(m);
  auto const before = h.stacks.size();
  while (h.stacks.size() == before)
    if (!h.next()) return {};
  EXPECT_EQ(h.stacks.back().query(), before + 1);
  return h.stacks.back();
}

TEST_F(ranks_of_a_worker, stacks_of_python_ranks_name_their_lines) {
  std::ofstream(file("wait.py")) << script(file("up"));
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(4, "case $RANK in 3) : > " + file("up3") +
                          "; exec sleep 1000 ;; esac; exec python3 " + file("wait.py")));
    heard h(s);
    ASSERT_TRUE(h.until(4, 0));
    for (auto const* up : {"up0", "up1", "up2", "up3"}) ASSERT_TRUE(there(file(up)));
    ::kill(h.pids[2], SIGSTOP);
    auto const all = ask(h, {0, 1, 2, 3, 9});
    ASSERT_EQ(all.stack_size(), 4) << "9 is not held";
    std::map<std::uint32_t, v1::RankStack> by_rank;
    for (auto const& one : all.stack()) by_rank[one.rank()] = one;
    EXPECT_EQ(by_rank[0].state(), v1::STACK_TAKEN);
    EXPECT_NE(by_rank[0].text().find("line 4 in waits_here"), std::string::npos)
        << by_rank[0].text();
    EXPECT_EQ(by_rank[0].text().find("0x"), std::string::npos) << by_rank[0].text();
    EXPECT_EQ(by_rank[0].text(), by_rank[1].text()) << "equal stacks are equal texts";
    EXPECT_TRUE(by_rank[0].process().starts_with("S")) << by_rank[0].process();
    EXPECT_EQ(by_rank[2].state(), v1::STACK_STOPPED);
    EXPECT_TRUE(by_rank[2].process().starts_with("T")) << by_rank[2].process();
    EXPECT_NE(by_rank[2].text().find("time_sleep"), std::string::npos) << "from outside\n"
                                                                       << by_rank[2].text();
    EXPECT_EQ(by_rank[3].state(), v1::STACK_NATIVE);
    EXPECT_NE(by_rank[3].text().find("clock_nanosleep"), std::string::npos) << by_rank[3].text();
    ::kill(h.pids[2], SIGCONT);
    EXPECT_EQ(ask(h, {2}).stack(0).state(), v1::STACK_TAKEN) << "it was not harmed";
    EXPECT_TRUE(alive(h.pids[3])) << "nor a process that does not handle the signal";
    s->Write(stop(0));
    ASSERT_TRUE(h.until(4, 4));
    EXPECT_EQ(ask(h, {0}).stack_size(), 0) << "they have ended";
  }});
}

TEST_F(ranks_of_a_worker, ranks_with_own_copies_of_the_code_have_equal_stacks) {
  std::ofstream(file("wait.py")) << script(file("up"));
  std::filesystem::create_directory_symlink(directory.path(), file("link"));
  for (auto const& root : {directory.path(), file("link")}) {
    SCOPED_TRACE(root);
    program_options o;
    o.directory = root;
    serve({[&](worker_stream* s, v1::WorkerMessage const&) {
            s->Write(start(2, "mkdir -p code && cp " + file("wait.py") +
                                  " code && exec python3 \"$(pwd -P)/code/wait.py\""));
            heard h(s);
            ASSERT_TRUE(h.until(2, 0));
            for (auto const* up : {"up0", "up1"}) ASSERT_TRUE(there(file(up)));
            auto const all = ask(h, {0, 1});
            ASSERT_EQ(all.stack_size(), 2);
            auto const& text = all.stack(0).text();
            EXPECT_EQ(text, all.stack(1).text());
            EXPECT_NE(text.find("File \"code/wait.py\", line 4 in waits_here"), std::string::npos)
                << text;
            s->Write(stop(0));
            ASSERT_TRUE(h.until(2, 2));
          }},
          o);
    for (auto const* up : {"up0", "up1"}) std::filesystem::remove(file(up));
  }
}

// A systemd service with DynamicUser has such a link.
TEST_F(ranks_of_a_worker, stacks_are_available_behind_a_symbolic_link) {
  temporary_directory real;
  std::filesystem::create_directory_symlink(real.path(), file("link"));
  program_options o;
  o.directory = file("link");
  std::ofstream(file("wait.py")) << script(file("up"));
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
          s->Write(start(1, "exec python3 " + file("wait.py")));
          heard h(s);
          ASSERT_TRUE(h.until(1, 0));
          ASSERT_TRUE(there(file("up0")));
          EXPECT_EQ(ask(h, {0}).stack(0).state(), v1::STACK_TAKEN);
          s->Write(stop(0));
          ASSERT_TRUE(h.until(1, 1));
        }},
        o);
}

TEST_F(ranks_of_a_worker, sitecustomize_runs_and_child_processes_have_stacks) {
  std::filesystem::create_directory(file("site"));
  std::ofstream(file("site/sitecustomize.py")) << "import builtins\nbuiltins.own = 'kept'\n";
  std::ofstream(file("parent.py")) << "import os, time\n"
                                      "assert own == 'kept'\n"
                                      "def child():\n    open('" +
                                          file("child") +
                                          "', 'w').close()\n    time.sleep(1000)\n"
                                          "if os.fork() == 0:\n    child()\n"
                                          "time.sleep(1000)\n";
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    auto order = start(1, "exec python3 " + file("parent.py"));
    (*order.mutable_ranks()->mutable_start(0)->mutable_env())["PYTHONPATH"] = file("site");
    s->Write(order);
    heard h(s);
    ASSERT_TRUE(h.until(1, 0));
    ASSERT_TRUE(there(file("child")));
    auto const all = ask(h, {0});
    ASSERT_EQ(all.stack_size(), 1);
    auto const& text = all.stack(0).text();
    EXPECT_NE(text.find("in <module>"), std::string::npos) << text;
    auto const other = text.find("A process that it has started (");
    ASSERT_NE(other, std::string::npos) << text;
    EXPECT_NE(text.find("in child", other), std::string::npos) << text;
    s->Write(stop(0));
    ASSERT_TRUE(h.until(1, 1));
  }});
}

TEST_F(ranks_of_a_worker, rank_that_blocks_the_stack_signal_survives_unblocking_it) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(1,
                   "exec python3 -c \"import os, signal, time; "
                   "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 5]); open('" +
                       file("up") + "', 'w').close()\nwhile not os.path.exists('" + file("on") +
                       "'): time.sleep(0.01)\n"
                       "os.execlp('python3', 'python3', '-S', '-c', 'import signal; "
                       "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGRTMIN + 5])')\""));
    heard h(s);
    ASSERT_TRUE(h.until(1, 0));
    ASSERT_TRUE(there(file("up")));
    EXPECT_EQ(ask(h, {0}).stack(0).state(), v1::STACK_NO_ANSWER);
    std::ofstream(file("on")).close();
    ASSERT_TRUE(h.until(1, 1));
    EXPECT_EQ(h.ends[0].signal(), 0u);
    EXPECT_EQ(h.ends[0].exit_status(), 0u);
  }});
}

TEST_F(ranks_of_a_worker, environment_is_unchanged_if_stacks_are_off) {
  program_options o;
  o.stack_signal = 0;
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
          s->Write(start(1, "echo \"[$PYTHONPATH][$MUSTER_STACKS]\" >&2; : > " + file("up") +
                                "; exec sleep 1000"));
          heard h(s);
          ASSERT_TRUE(h.until(1, 0));
          ASSERT_TRUE(there(file("up")));
          EXPECT_EQ(ask(h, {0}).stack(0).state(), v1::STACK_OFF);
          s->Write(stop(0));
          ASSERT_TRUE(h.until(1, 1));
          EXPECT_EQ(h.ends[0].stderr(0), "[][]");
        }},
        o);
}

TEST_F(ranks_of_a_worker, stacks_are_not_written_into_files_of_the_program) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(1,
                   "exec python3 -c \"import os, time; os.closerange(3, 1000); "
                   "own = os.open('" +
                       file("own") + "', os.O_RDWR | os.O_CREAT); os.dup2(own, 200); open('" +
                       file("up") + "', 'w').close(); time.sleep(1000)\""));
    heard h(s);
    ASSERT_TRUE(h.until(1, 0));
    ASSERT_TRUE(there(file("up")));
    EXPECT_EQ(ask(h, {0}).stack(0).state(), v1::STACK_NATIVE);
    EXPECT_EQ(read_file(file("own")), "");
    s->Write(stop(0));
    ASSERT_TRUE(h.until(1, 1));
  }});
}

TEST_F(ranks_of_a_worker, symbolic_link_in_place_of_a_stack_file_is_not_followed) {
  std::ofstream(file("other")) << "precious";
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(1,
                   "exec python3 -c \"import os, time; n, _, d = os.environ['MUSTER_STACKS']"
                   ".partition(':'); f = [d + '/' + n for n in os.listdir(d)][0]; os.unlink(f); "
                   "os.symlink('" +
                       file("other") + "', f); open('" + file("up") +
                       "', 'w').close(); time.sleep(1000)\""));
    heard h(s);
    ASSERT_TRUE(h.until(1, 0));
    ASSERT_TRUE(there(file("up")));
    EXPECT_EQ(ask(h, {0}).stack(0).state(), v1::STACK_NATIVE);
    EXPECT_EQ(read_file(file("other")), "precious");
    s->Write(stop(0));
    ASSERT_TRUE(h.until(1, 1));
  }});
}

// The stack of the shell itself does not show where a rank hangs.
TEST_F(ranks_of_a_worker, stack_of_a_shell_shows_its_child_program) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(1, ": > " + file("up") + "; sleep 1000; :"));
    heard h(s);
    ASSERT_TRUE(h.until(1, 0));
    ASSERT_TRUE(there(file("up")));
    std::string text;
    auto const until = std::chrono::steady_clock::now() + 10s;  // until the shell has forked
    auto const both_are_there = [&text] {                       // and waits for the child
      return text.starts_with("A process that") && text.find("clock_nanosleep") != text.npos;
    };
    while (!both_are_there() && std::chrono::steady_clock::now() < until)
      text = ask(h, {0}).stack(0).text();
    EXPECT_TRUE(text.starts_with("A process that it has started (sleep 1000):\n")) << text;
    s->Write(stop(0));
    ASSERT_TRUE(h.until(1, 1));
  }});
}

// The rank blocks the signal, so its stack can only be read from outside.
TEST_F(ranks_of_a_worker, unresponsive_ranks_get_native_stacks) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(1,
                   "exec python3 -c \"import signal, time; "
                   "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); open('" +
                       file("up") + "', 'w').close(); time.sleep(1000)\""));
    heard h(s);
    ASSERT_TRUE(h.until(1, 0));
    ASSERT_TRUE(there(file("up")));
    auto const it = ask(h, {0}).stack(0);
    EXPECT_EQ(it.state(), v1::STACK_NO_ANSWER);
    EXPECT_NE(it.text().find("time_sleep"), std::string::npos) << it.text();
    s->Write(stop(0));
    ASSERT_TRUE(h.until(1, 1));
  }});
}

TEST(native_stacks, unreadable_stacks_are_empty) {
  auto const soon = std::chrono::steady_clock::now() + 2s;
  EXPECT_TRUE(native_stacks({}, {}).of({::getppid()}, soon).empty());
  EXPECT_TRUE(native_stacks({"/nowhere/reader"}, {}).of({::getpid()}, soon).empty());
  EXPECT_TRUE(native_stacks({"/bin/false"}, {}).of({::getpid()}, soon).empty());
  EXPECT_TRUE(native_stacks({"/bin/sh", "-c", "echo 1 5; echo 12"}, {}).of({1}, soon).empty())
      << "what is cut";
  auto const began = std::chrono::steady_clock::now();
  EXPECT_TRUE(native_stacks({"/bin/sleep", "100"}, {}).of({1}, began + 200ms).empty());
  EXPECT_LT(std::chrono::steady_clock::now(), began + 5s) << "the reader is killed at the deadline";
}

}  // namespace
}  // namespace muster::test
