// Why programs fail, and what counts.
#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

TEST(program_causes, have_what_the_coordination_service_had_told_before) {
  bench b;
  auto const w = b.attach(0);
  auto spec = of_workers(2);
  spec.max_restarts = 1;
  auto const p = b.submit(spec);
  b.run(w, p, 1, {0, 1});
  coordination_failure const told{code::unavailable, "worker:1", "it is silent\nfor 10 s"};
  b.step([&] { b.core->coordination_failed({p, 1, told}); });
  EXPECT_EQ(b.state(p), program_state::running) << "the program may bear it";
  b.end(w, p, 1, 0, 6);
  b.step([&] { b.core->coordination_failed({p, 1, {code::aborted, "worker:0", "stopped"}}); });
  b.end(w, p, 1, 1, 0, true);
  auto const attempt = b.core->attempts_of(p).value().at(0);
  ASSERT_TRUE(attempt.cause);
  EXPECT_EQ(attempt.cause->coordination, told) << "what is told of ranks that are stopped is not";
  EXPECT_EQ(attempt.cause->text,
            "worker:0 on host0: exit status 6; the coordination service had told: it is silent");
  ASSERT_EQ(b.look(p).attempt, 2u);
  b.step([&] { b.core->coordination_failed({p, 1, told}); });
  b.run(w, p, 2, {0, 1});
  b.end(w, p, 2, 0, 7);
  EXPECT_FALSE(b.look(p).cause->coordination) << "of the attempt before";
}

TEST(program_causes, that_the_server_did_not_give_an_upload_is_no_failure) {
  bench b;
  auto const w = b.attach(0);
  auto const p = b.submit(of_workers(1));
  b.report(w, {}, {{.name = {p, 1, 0}, .not_started = "no upload", .stopped = true}});
  auto const first = b.core->attempts_of(p).value().at(0);
  EXPECT_EQ(first.end, program_end::lost);
  EXPECT_EQ(first.cause->kind, cause_kind::not_started);
  EXPECT_EQ(first.cause->text, "worker:0 on host0: could not be started: no upload");
  EXPECT_EQ(b.look(p).attempt, 2u);
  EXPECT_EQ(b.look(p).restarts, 0u);
}

}  // namespace
}  // namespace muster::core::programs
