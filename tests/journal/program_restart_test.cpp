// As in the hub, orders wait until the changes of their step are written. A kill loses unwritten
// steps.
//
// A rank is never started twice, and a program that was reported as ended keeps its end state.
#include <deque>
#include <random>

#include "server/journal/fact_encoding.hpp"
#include "tests/core/programs/model_worker.hpp"
#include "tests/journal/memory_store.hpp"

namespace muster::server::journal {
namespace program_restart_cases {

using namespace core;
using namespace core::programs;

class durable_bench : public bench {
 public:
  durable_bench() {
    on_step = [this] { take(); };
  }

  /// Writes all but `left` steps.
  void write(std::size_t left) {
    while (steps_.size() > left) {
      auto const s = std::move(steps_.front());
      steps_.pop_front();
      EXPECT_TRUE(disk_.write(s.batch).ok());
      for (auto const& o : s.orders)
        if (resources.workers.contains(o.stream)) sent[o.stream].push_back(o);
      for (auto const& c : s.changes)
        if (!c.gone && ended(c.state)) over[c.program] = c.state;
    }
  }
  std::size_t read_only_store() const { return steps_.size(); }
  void die() {
    steps_.clear();
    auto stored = load_programs(disk_);
    ASSERT_TRUE(stored) << stored.error().message;
    std::vector<restored_program> known;
    for (auto& p : *stored) known.push_back(std::move(p.program));
    restart(std::move(known));
    for (auto const& [p, s] : over) EXPECT_EQ(state(p), s) << text(p) << " had ended";
  }
  memory_store const& disk() const { return disk_; }

  std::map<program_id, program_state> over;

 private:
  struct step_done {
    std::vector<change> batch;
    std::vector<rank_orders> orders;
    std::vector<program_changed> changes;
  };
  void take() {
    step_done s{{}, core->pending_output().orders, core->pending_output().changes};
    encode("train", core->facts(), s.batch);
    if (steps_.empty() && s.batch.empty()) {
      for (auto& o : s.orders) sent[o.stream].push_back(std::move(o));
      return;
    }
    for (auto& o : s.orders)  // leases do not wait
      if (auto const number = std::exchange(o.lease, 0); number > 0)
        sent[o.stream].push_back({.stream = o.stream, .lease = number});
    steps_.push_back(std::move(s));
  }

  memory_store disk_;
  std::deque<step_done> steps_;
};

void run(std::uint64_t seed, int& deaths) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  durable_bench b;
  std::deque<model_worker> workers;
  for (std::int64_t i = 0; i < 4; ++i)
    workers.emplace_back(b, seed * 16 + static_cast<std::uint64_t>(i) + 1, i);
  std::set<program_id> programs;
  for (int turn = 0; turn < 4'000; ++turn) {
    bool const quiet = turn > 1'500;
    b.advance(std::chrono::milliseconds(100));
    if (!quiet && random() % 150 == 0) {
      ++deaths;
      b.die();
      for (auto& w : workers) w.lose_server();
      // Their submissions were not answered.
      std::erase_if(programs, [&](program_id p) { return !b.core->knows(p); });
    }
    auto& w = workers[random() % workers.size()];
    if (!w.attached() && (quiet || random() % 20 == 0)) w.attach();
    if (!quiet && w.attached() && random() % 120 == 0) w.cut();
    if (!quiet && random() % 600 == 0) w.die();
    if (!quiet && programs.size() < 12 && random() % 20 == 0) {
      programs.insert(b.submit(random_program(random)));
    }
    if (!quiet && !programs.empty() && random() % 200 == 0) {
      program_command const wishes[] = {program_command::cancel, program_command::stop,
                                        program_command::restart};
      b.wish(*std::next(programs.begin(), static_cast<long>(random() % programs.size())),
             wishes[random() % 3]);
    }
    for (auto& one : workers) one.live();
    if (quiet || random() % 3 == 0) b.write(quiet ? 0 : random() % (b.read_only_store() + 1));
    expect_in_order(workers);
    if (testing::Test::HasFailure()) return;
  }
  expect_all_over(b, programs);
}

TEST(program_restarts, restore_how_each_attempt_ended_and_reserve_spares) {
  durable_bench b;
  auto const w = b.attach(0, {{"gpu", 2}});
  auto spec = of_workers(1, {{"gpu", 1}});
  spec.max_restarts = 1;
  spec.spares = 1;
  auto const p = b.submit(spec);
  b.write(0);
  b.run(w, p, 1, {0});
  b.end(w, p, 1, 0, 3);  // the next attempt begins in the same step
  EXPECT_EQ(b.find(p).attempt, 2u);
  auto const told = b.core->attempts_of(p).value();
  b.write(0);
  b.die();
  EXPECT_EQ(b.core->attempts_of(p).value(), told);
  EXPECT_EQ(told[0].end, program_end::failed);
  b.attach(1, {{"gpu", 1}});
  EXPECT_EQ(b.find(p).spares, 1u);
}

TEST(program_restarts, start_no_rank_twice_and_lose_no_program) {
  int deaths = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    run(seed, deaths);
    if (HasFailure()) return;
  }
  EXPECT_GT(deaths, 300);
}

}  // namespace program_restart_cases
}  // namespace muster::server::journal
