#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

std::string why(bench& b, program_spec spec) {
  return b.find(b.submit(std::move(spec))).waits_for;
}

constexpr auto no_room =
    "there is room for 1 of its 3 ranks on the 1 worker that runs programs; even when idle, they "
    "have too few resources";

TEST(waiting_programs, unsatisfiable_program_reports_the_missing_resources) {
  bench b;
  EXPECT_EQ(why(b, of_workers(1)), "no worker that runs programs is connected");
  b.attach(0, {{"gpu", 2}});
  EXPECT_EQ(why(b, of_workers(1, {{"gpu", 4}})), "no worker that runs programs has gpu=4");
  EXPECT_EQ(why(b, of_workers(3, {{"gpu", 2}})), no_room);
  auto spec = of_workers(1);
  spec.tasks[0].labels = {{"zone", "a"}, {"disk", "ssd"}};
  EXPECT_EQ(why(b, spec), "no worker that runs programs has the labels zone=a, disk=ssd");
  spec = of_workers(3);
  spec.per_worker = 1;
  b.attach(1);
  EXPECT_EQ(
      why(b, spec),
      "there is room for 2 of its 3 ranks on the 2 workers that run programs; even when idle, "
      "they have too few resources with per_worker 1");
}

TEST(waiting_programs, report_how_many_workers_are_unavailable) {
  bench b;
  auto const w = b.attach(0);
  b.attach(1);
  b.resources.workers.at(w).open = false;
  auto spec = of_workers(2);
  spec.per_worker = 1;
  EXPECT_EQ(why(b, spec),
            "there is room for 1 of its 2 ranks on the 1 worker that runs programs (1 more "
            "cordoned, draining or disconnected); even when idle, they have too few resources with "
            "per_worker 1");
  for (auto& [s, at] : b.resources.workers) at.open = false;
  EXPECT_EQ(why(b, spec), "2 workers that could run it are cordoned, draining or disconnected");
}

TEST(waiting_programs, name_the_spares_of_running_programs) {
  bench b;
  auto const w = b.attach(0, {{"gpu", 2}});
  auto spec = of_workers(1, {{"gpu", 1}});
  spec.spares = 1;
  b.run(w, b.submit(spec), 1, {0});
  EXPECT_EQ(
      why(b, of_workers(1, {{"gpu", 1}})),
      "there is room for 0 of its 1 rank on the 1 worker that runs programs; resources "
      "that become free are reserved for it; 1 place reserved as spares for running programs");
}

process with_ports(std::int64_t index, std::uint16_t first, std::uint16_t last) {
  process p{static_cast<std::uint64_t>(index) + 1, index, "host" + std::to_string(index), {}};
  p.first_port = first;
  p.last_port = last;
  return p;
}

TEST(ports_of_programs, ranks_move_to_other_workers_when_one_has_too_few) {
  bench b;
  auto const few = b.attach(with_ports(0, 28'000, 28'002)), many = b.attach(1);
  auto const p = b.submit(of_workers(10));
  EXPECT_EQ(b.state(p), program_state::starting);
  EXPECT_EQ(b.started(few).size() + b.started(many).size(), 10u);
  EXPECT_LE(b.started(few).size(), 1u) << "the first rank takes two more";
}

TEST(ports_of_programs, permanently_too_few_ports_are_reported) {
  bench b;
  b.attach(with_ports(0, 28'000, 28'003));
  EXPECT_EQ(
      why(b, of_workers(30)),
      "there is room for 4 of its 30 ranks on the 1 worker that runs programs; even when idle, "
      "they have too few ports in --program-ports");
}

TEST(ports_of_programs, in_cooldown_are_waited_for) {
  bench b;
  auto const w = b.attach(with_ports(0, 28'000, 28'003));
  auto const first = b.submit(of_workers(2));
  b.run(w, first, 1, {0, 1});
  b.end(w, first, 1, 0);
  b.end(w, first, 1, 1);
  auto const p = b.submit(of_workers(2));
  EXPECT_EQ(b.find(p).waits_for,
            "there is room for 0 of its 2 ranks on the 1 worker that runs programs; too few of "
            "their --program-ports are free and have been unused for a minute");
  b.advance_in_touch(62s);
  EXPECT_EQ(b.state(p), program_state::starting);
}

}  // namespace
}  // namespace muster::core::programs
