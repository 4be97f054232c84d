#include <map>

#include "tests/client/ranks_fixture.hpp"

namespace muster::test {
namespace {

constexpr char const* python_package = PYTHON_PACKAGE;

// Counts to a limit, a step every `ms`. Writes to a file at which step it was stopped.
std::string counting(std::string const& stopped, int from, int ms) {
  return "import os, sys, time\nsys.path.insert(0, '" + std::string(python_package) +
         "')\nimport muster\nn = " + std::to_string(from) +
         "\nwhile not muster.step(n):\n    n += 1\n    time.sleep(" + std::to_string(ms) +
         " / 1000)\nopen('" + stopped + "' + os.environ['RANK'], 'w').write(str(n))\n";
}

struct steps_heard : heard {
  using heard::heard;
  /// Waits until this many ranks have reported a step, or a later one.
  bool until_all_move(std::uint32_t ranks) {
    std::map<std::uint32_t, std::uint64_t> const before = last;
    for (;;) {
      std::uint32_t moved = 0;
      for (auto const& [rank, step] : last) {
        auto const it = before.find(rank);
        moved += it == before.end() || it->second < step;
      }
      if (moved >= ranks) return true;
      if (!more()) return false;
    }
  }
  bool more() {
    v1::WorkerMessage m;
    if (!stream->Read(&m)) return false;
    for (auto const& s : m.ranks().started()) pids[s.name().rank()] = static_cast<pid_t>(s.pid());
    for (auto const& e : m.ranks().ended()) ends[e.name().rank()] = e;
    for (auto const& r : m.ranks().steps().rank()) {
      last[r.name().rank()] = r.step();
      EXPECT_LE(r.at_us(), m.ranks().steps().clock_us());
      EXPECT_EQ(r.mark_step_size(), r.mark_us_size());
      EXPECT_LE(r.mark_step_size(), 64);
      left_out += r.left_out();
    }
    for (auto const& h : m.ranks().held_steps()) held.push_back(h);
    return true;
  }
  v1::StepsHeld hold(std::uint64_t query) {
    v1::ServerMessage m;
    auto& h = *m.mutable_ranks()->add_hold_steps();
    h.set_query(query);
    h.set_program(7);
    h.set_attempt(1);
    stream->Write(m);
    while (held.empty() || held.back().query() != query)
      if (!more()) return {};
    return held.back();
  }
  void stop_after(std::uint64_t step, bool go_on = false) const {
    v1::ServerMessage m;
    auto& s = *m.mutable_ranks()->add_stop_after_step();
    s.set_program(7);
    s.set_attempt(1);
    s.set_step(step);
    s.set_go_on(go_on);
    stream->Write(m);
  }
  bool until_ended(std::size_t n) {
    while (ends.size() < n)
      if (!more()) return false;
    return true;
  }

  std::map<std::uint32_t, std::uint64_t> last;
  std::vector<v1::StepsHeld> held;
  std::uint64_t left_out = 0;
};

TEST_F(ranks_of_a_worker, report_steps_and_all_stop_after_the_same_step) {
  std::ofstream(file("count.py")) << counting(file("stopped"), 0, 5);
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(3, "exec python3 " + file("count.py")));
    steps_heard h(s);
    ASSERT_TRUE(h.until_all_move(3));
    ASSERT_TRUE(h.until_all_move(3));
    auto const held = h.hold(1);
    ASSERT_EQ(held.rank_size(), 3);
    std::uint64_t most = 0;
    for (auto const step : held.step()) most = std::max(most, step);
    EXPECT_GT(most, 0u);
    h.stop_after(most + 1);
    ASSERT_TRUE(h.until_ended(3));
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(h.ends[rank].exit_status(), 0u);
      EXPECT_EQ(h.ends[rank].signal(), 0u);
      EXPECT_EQ(read_file(file("stopped" + std::to_string(rank))), std::to_string(most + 1));
    }
    auto const until = std::chrono::steady_clock::now() + 10s;  // no event signals it
    while (!std::filesystem::is_empty(directory / "steps"))
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "the files are deleted with the ranks";
  }});
}

TEST_F(ranks_of_a_worker, continue_when_a_hold_is_released) {
  std::ofstream(file("count.py")) << counting(file("stopped"), 0, 5);
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(2, "exec python3 " + file("count.py")));
    steps_heard h(s);
    ASSERT_TRUE(h.until_all_move(2));
    EXPECT_EQ(h.hold(1).rank_size(), 2);
    h.stop_after(0, true);
    ASSERT_TRUE(h.until_all_move(2)) << "waiting ranks continue";
    s->Write(stop(0));
    ASSERT_TRUE(h.until_ended(2));
  }});
}

TEST_F(ranks_of_a_worker, report_only_the_newest_steps_when_there_are_many) {
  std::ofstream(file("count.py")) << counting(file("stopped"), 0, 0);
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(1, "exec python3 " + file("count.py")));
    steps_heard h(s);
    ASSERT_TRUE(h.until_all_move(1));
    ASSERT_TRUE(h.until_all_move(1));
    EXPECT_GT(h.left_out, 0u);
    s->Write(stop(0));
    ASSERT_TRUE(h.until_ended(1));
  }});
}

// Garbage, a truncated file, an invalid number, a pipe in place of the file, and no file.
TEST_F(ranks_of_a_worker, invalid_step_files_do_not_affect_the_worker) {
  std::ofstream(file("count.py")) << counting(file("stopped"), 0, 5);
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(6,
                   "case $RANK in"
                   " 0) head -c 4096 /dev/urandom > $MUSTER_STEPS; exec sleep 1000;;"
                   " 1) : > $MUSTER_STEPS; exec sleep 1000;;"
                   " 2) python3 -c \"import os; f = open(os.environ['MUSTER_STEPS'], 'r+b'); "
                   "f.seek(16); f.write(b'\\\\xff' * 3000)\"; exec sleep 1000;;"
                   " 3) rm $MUSTER_STEPS; mkfifo $MUSTER_STEPS; exec sleep 1000;;"
                   " 4) rm $MUSTER_STEPS; exec sleep 1000;; esac; exec python3 " +
                       file("count.py")));
    steps_heard h(s);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(h.until_all_move(1));
    EXPECT_EQ(h.last.size(), 1u);
    EXPECT_TRUE(h.last.contains(5));
    EXPECT_EQ(h.hold(1).rank_size(), 1);
    s->Write(stop(0));
    ASSERT_TRUE(h.until_ended(6));
  }});
}

// Programs without Muster's library print their steps.
TEST_F(ranks_of_a_worker, printed_steps_are_read) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    auto m = start(2,
                   "echo MUSTER_STEPS=$MUSTER_STEPS; n=$RANK; "
                   "while :; do n=$((n + 10)); echo epoch 3 step $n >&2; sleep 0.05; done");
    m.mutable_ranks()->mutable_start(0)->set_step_pattern("step (\\d+)");
    s->Write(m);
    steps_heard h(s);
    ASSERT_TRUE(h.until_all_move(2));
    ASSERT_TRUE(h.until_all_move(2)) << "and the ranks continue";
    EXPECT_EQ(h.last[0] % 10, 0) << h.last[0];
    EXPECT_EQ(h.last[1] % 10, 1) << h.last[1];
    s->Write(stop(0));
    ASSERT_TRUE(h.until_ended(2));
    EXPECT_EQ(h.ends[0].stdout(0), "MUSTER_STEPS=") << "no other rank reports steps";
  }});
}

}  // namespace
}  // namespace muster::test
