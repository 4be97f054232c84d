#include "tests/coordination/fixture.hpp"
#include "tests/support/simulation/random.hpp"

namespace muster::core::coordination {
namespace {

class madness {
 public:
  explicit madness(std::uint64_t seed) : dice_(seed), s_(some_setting()) {}

  void play(int steps) {
    while (steps-- > 0 && !testing::Test::HasFailure()) {
      if (dice_.chance(30)) s_.advance(duration(dice_.between(0, 1 << dice_.between(0, 24))));
      if (dice_.chance(2)) s_.stall(duration(dice_.between(0, 30'000'000)));
      if (dice_.chance(20)) s_.tick();
      if (dice_.chance(10) && !parked_.empty()) give_up();
      s_.speaks_xla = dice_.chance(20);
      s_.peer_of_caller.reset();
      if (dice_.chance(20)) s_.peer_of_caller = peer();
      auto const call = one();
      if (s_.parked(call)) parked_.push_back(call);
      if (dice_.chance(5)) look();
      if (dice_.chance(2)) redeclare();
      if (dice_.chance(1)) (void)s_.fail(code::aborted, text(), dice_.chance(50));
    }
    s_.stop();
    EXPECT_EQ(s_.current().parked_calls(), 0u);
  }
  std::uint64_t parked() const { return parked_.size(); }
  std::uint64_t generations() const { return s_.generation().number; }

 private:
  setting some_setting() {
    setting s;
    s.spec.jobs = some_jobs();
    s.spec.heartbeat_timeout = 5s;
    s.spec.register_timeout = 3s;
    s.spec.shutdown_timeout = dice_.chance(30) ? 0s : 4s;
    s.spec.register_barrier = dice_.chance(60);
    s.spec.recoverable = dice_.chance(20);
    s.spec.allow_reconnect = dice_.chance(20);
    s.spec.renew = dice_.chance(80);
    s.spec.stuck_after = 1s;
    s.limits.parked_calls_max = static_cast<std::size_t>(dice_.between(1, 30));
    s.limits.barriers_max = static_cast<std::size_t>(dice_.between(1, 10));
    s.limits.finished_barriers_max = static_cast<std::size_t>(dice_.between(1, 6));
    s.limits.keys_max = 10;
    s.limits.value_bytes_max = 200;
    s.limits.key_bytes_max = 100;
    s.limits.barrier_id_bytes_max = 100;
    s.limits.device_bytes_max = 10;
    return s;
  }

  std::vector<job_spec> some_jobs() {
    std::vector<job_spec> jobs{
        {"worker", static_cast<std::uint32_t>(dice_.between(1, 4)), dice_.chance(20)}};
    if (dice_.chance(50)) jobs.push_back({"b", 2, dice_.chance(50)});
    return jobs;
  }
  void redeclare() {
    auto spec = s_.all.spec(s_.id);
    spec.jobs = some_jobs();
    if (dice_.chance(5)) spec.jobs[0].tasks = 0;
    EXPECT_EQ(s_.redeclare(spec).ok(), spec.jobs[0].tasks != 0);
  }

  template <class T>
  T any(std::initializer_list<T> of) {
    return of.begin()[dice_.between(0, static_cast<std::int64_t>(of.size()) - 1)];
  }
  std::int64_t number() {
    using limits = std::numeric_limits<std::int64_t>;
    return any<std::int64_t>({0, 0, 0, 1, 1, 2, 3, -1, limits::max(), limits::min(),
                              limits::max() - 1, std::int64_t{1} << 62, (std::int64_t{1} << 62) - 1,
                              dice_.between(0, 20)});
  }
  task_ref task() {
    if (dice_.chance(3)) return {no_task, text()};
    return s_.ref(
        static_cast<task_index>(dice_.between(0, std::int64_t(s_.all.spec(s_.id).size()) - 1)));
  }
  std::vector<task_ref> tasks() {
    std::vector<task_ref> out;
    for (auto n = any<int>({0, 0, 1, 2, 3, 6}); n > 0; --n) out.push_back(task());
    return out;
  }
  std::string text() {
    return any<std::string>({"", "a", "b", "a/b", "//a//", std::string("a\0b", 3), "\xE2\x82\xAC",
                             std::string(99, '%'), std::string(5'000, 'x'), "9", "-3",
                             "9223372036854775807", "[Init]Wait_for_all_tasks_to_register",
                             "Shutdown::", "b1", "b2",
                             "Shutdown::" + std::to_string(raw(s_.incarnation())),
                             "WaitForAllTasks::" + std::to_string(raw(s_.incarnation()))});
  }
  core::incarnation some_incarnation() {
    return core::incarnation{any<std::uint64_t>({0, 1, 2, 3, 3, dice_.next(), ~std::uint64_t{0}})};
  }
  std::string peer() { return any<std::string>({"", "p1", "p2", "p3", "p4"}); }
  duration timeout() {
    return any<duration>({0s, 1us, 1s, 3s, 10s, 1h, duration::max(), duration::min(), -1s});
  }
  time_point deadline() {
    auto const now = s_.now();
    return any<time_point>({never, never, never, now, now + 1ms, now + 2s, now + 1h, now - 1h,
                            time_point::min(), time_point{}, never - 1us});
  }
  void give_up() {
    auto const at = static_cast<std::size_t>(dice_.between(0, std::int64_t(parked_.size()) - 1));
    auto const call = parked_[at];
    parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(at));
    if (s_.parked(call)) s_.gone(call);
  }
  call_id one() {
    auto const by = deadline();
    switch (dice_.between(0, 19)) {
      case 0:
      case 1:
      case 2:
        return s_.ask(register_task{{}, task(), some_incarnation(), dice_.chance(10), peer()}, by);
      case 3:
      case 4:
        return s_.ask(heartbeat{{}, task(), some_incarnation()}, by);
      case 5:
        return s_.ask(shutdown_task{{}, task()}, by);
      case 6:
        return s_.ask(reset_task{{}, task()}, by);
      case 7:
        return s_.ask(report_error{{}, task(), static_cast<muster::code>(number() & 0xFF), text()},
                      by);
      case 8:
        return s_.ask(poll_for_error{{}, task()}, by);
      case 9:
        return s_.ask(wait_for_all_tasks{{}, task(), {blob(text().substr(0, 8))}}, by);
      case 10:
        return s_.ask(get_task_state{{}, tasks()}, by);
      case 11: {
        watch_tasks w{{}, {}, number(), dice_.chance(10)};
        auto const from = std::exchange(s_.peer_of_caller, {});
        if (dice_.chance(60)) w.version = s_.version();
        s_.peer_of_caller = from;
        if (dice_.chance(30)) w.job = static_cast<std::size_t>(dice_.between(0, 3));
        return s_.ask(w, by);
      }
      case 12:
        return s_.ask(insert_key_value{{}, text(), blob(text()), dice_.chance(50)}, by);
      case 13:
        return s_.ask(get_key_value{{}, text(), dice_.chance(80), some_incarnation(), peer()}, by);
      case 14:
        return s_.ask(increment_key_value{{}, text(), number()}, by);
      case 15:
        return dice_.chance(50) ? s_.ask(get_key_value_dir{{}, text()}, by)
                                : s_.ask(delete_key_value{{}, text()}, by);
      case 16:
        return s_.ask(
            cancel_barrier{{}, text(), dice_.chance(20) ? std::nullopt : std::optional(number())},
            by);
      case 17:
        return s_.ask(get_alive_tasks{{}, task(), tasks()}, by);
      default:
        return s_.ask(
            enter_barrier{{}, text(), number(), timeout(), task(), tasks(), dice_.chance(30)}, by);
    }
  }
  void look() {
    auto const from = static_cast<std::size_t>(number());
    auto const limit = static_cast<std::size_t>(number());
    auto const& service = s_.current();
    service.views().tasks(s_.now(), from, limit);
    service.views().barriers_from(from, limit);
    service.views().barrier(text());
    service.views().keys(text(), text(), limit);
    service.views().key(text());
    service.views().key_waits(text(), limit);
    s_.all.view(s_.id, s_.now());
  }

  simulation::random dice_;
  scene s_;
  std::vector<call_id> parked_;
};

TEST(fuzz, no_sequence_of_requests_breaks_an_invariant) {
  std::uint64_t parked = 0, generations = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    madness m(seed);
    m.play(1'500);
    parked += m.parked();
    generations += m.generations();
  }
  // The requests must reach the rare states, or the test proves nothing.
  EXPECT_GT(parked, 2'000u);
  EXPECT_GT(generations, 200u);
}

}  // namespace
}  // namespace muster::core::coordination
