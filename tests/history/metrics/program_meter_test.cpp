#include "server/history/metrics/program_meter.hpp"

#include <gtest/gtest.h>

namespace muster::history {
namespace {

using core::program_end;
using core::program_id;
using core::program_state;

constexpr auto first = program_id{1};

core::changes say(std::vector<core::program_changed> all) {
  core::changes c;
  c.programs = std::move(all);
  return c;
}
std::uint64_t ended_as(program_meter const& m, program_state s) {
  return m.totals().finished[static_cast<std::size_t>(s)];
}
std::uint64_t attempts_ended(program_meter const& m, program_end e) {
  return m.totals().attempts[static_cast<std::size_t>(e)];
}

TEST(program_meter, counts_attempts_by_end_and_restarts) {
  program_meter m;
  m.fold(say({{first, program_state::pending}, {first, program_state::starting, 1}}));
  m.fold(say({{first, program_state::running, 1}, {first, program_state::restarting, 1}}));
  m.fold(say({{first, program_state::restarting, 1, false, program_end::lost},
              {first, program_state::starting, 2}}));
  m.fold(say({{first, program_state::succeeded, 2, false, program_end::succeeded}}));
  EXPECT_EQ(attempts_ended(m, program_end::lost), 1u);
  EXPECT_EQ(attempts_ended(m, program_end::succeeded), 1u);
  EXPECT_EQ(attempts_ended(m, program_end::failed), 0u);
  EXPECT_EQ(m.totals().restarts, 1u);
}

TEST(program_meter, counts_programs_by_their_end_also_without_an_attempt) {
  program_meter m;
  m.fold(say({{first, program_state::cancelled}}));
  m.fold(say({{.program = first, .gone = true}}));
  EXPECT_EQ(ended_as(m, program_state::cancelled), 1u);
  EXPECT_EQ(attempts_ended(m, program_end::cancelled), 0u);
}

}  // namespace
}  // namespace muster::history
