#include <gtest/gtest.h>

#include "server/journal/fact_encoding.hpp"
#include "tests/journal/memory_store.hpp"

namespace muster::server::journal {
namespace program_facts_cases {

using namespace core;
using namespace core::programs;
using namespace std::chrono_literals;

constexpr time_point at{std::chrono::seconds(1'700'000'000)};
constexpr auto id = program_id{77};

program_cause some_cause() {
  return {cause_kind::out_of_memory,
          3,
          "worker:3",
          "host-b",
          1,
          9,
          "worker:3 was killed",
          {"line 1", "\xff no UTF-8"},
          coordination_failure{muster::code::unavailable, "worker:2", "it is silent"},
          hang{hang_evidence::stack,
               3,
               "worker:3",
               "host-b",
               "train.py:12 in step",
               "S in pipe_read",
               "step_7",
               3,
               {"worker:0", "worker:1"},
               "wait.py:3 in wait",
               at + 1s,
               at + 62s}};
}

submitted_fact some_program() {
  program_spec s;
  s.name = "train";
  s.command = {"python", "\xff.py"};
  s.tasks = {{"chief", 1, 1, {"chief"}, {{"gpu", 2}}, {{"zone", "a"}}},
             {"worker", 2, 4, {}, {}, {}}};
  s.per_worker = 3;
  s.env = {{"A", "b\xfe"}};
  s.working_dir = "/srv";
  s.max_restarts = 4;
  s.grace = 11s;
  s.restart_grace = 2s;
  s.deadline = 1h;
  s.priority = -5;
  s.ends_with = {"chief"};
  s.idempotency_key = "key";
  s.request_digest = "\xfe digest";
  s.metadata = "{}";
  s.submitted_by = "token";
  s.notice = 5s;
  s.spares = 2;
  s.upload = "0123";
  s.weight = 7;
  s.preload = {"numpy", "os.path"};
  s.store = store_place::server;
  s.on_hang = hang_policy::abort;
  s.hang_after = 90s;
  return {id, std::make_shared<program_spec const>(s), at};
}

course_fact some_course() {
  return {id,
          program_state::running,
          goal::run,
          2,
          1,
          1,
          {{"host-a", 2}},
          some_cause(),
          at + 9s,
          at + 8s,
          agreed_stop{2, 77},
          some_cause().hang};
}

program_attempt_view some_attempt(std::uint32_t number) {
  return {number, program_end::lost, 2, 2, at + 1s, at + 2s, at + 3s, some_cause()};
}

placement_fact some_placement() {
  placement_fact f;
  f.program = id;
  f.attempt = 2;
  f.places = {{"worker", 4, incarnation{99}, "host-a", "10.0.0.1", 20'000, 20'099, 60s},
              {"worker", 5, incarnation{98}, "host-b", "fd00::1", 21'000, 21'099, 8s}};
  f.ranks = {{0, 0, 1, 21'000}, {1, 0, 0, 20'001}, {1, 1, 0, 20'002}};
  f.own_service = "[fd00::1]:21001";
  f.meeting_point = "[fd00::1]:21002";
  f.tunnels = true;
  f.store = true;
  f.ports = {{"fd00::1", 21'001}, {"fd00::1", 21'002}};
  return f;
}

rank_fact some_end(std::uint32_t rank) {
  return {{id, 2, rank},  true, rank_state::failed, 12, at + 1s, at + 2s, 3, 4,
          "no such file", true};
}

std::vector<programs::fact> all_facts() {
  return {some_program(),
          attempt_fact{id, some_attempt(1)},
          attempt_fact{id, some_attempt(2)},
          some_placement(),
          some_end(1),
          some_course()};
}

memory_store stored(std::vector<programs::fact> const& facts) {
  memory_store s;
  std::vector<change> batch;
  encode("blue", facts, batch);
  EXPECT_TRUE(s.write(batch).ok());
  return s;
}

TEST(program_facts, are_restored_unchanged) {
  auto const found = load_programs(stored(all_facts()));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().cluster, "blue");
  auto const& p = found->front().program;
  EXPECT_EQ(p.submitted, some_program());
  EXPECT_EQ(p.course, some_course());
  EXPECT_EQ(p.attempts, (std::vector{some_attempt(1), some_attempt(2)}));
  EXPECT_EQ(p.placement, some_placement());
  EXPECT_EQ(p.ended, std::vector{some_end(1)});
}

TEST(program_facts, new_attempt_replaces_the_facts_of_ranks) {
  auto facts = all_facts();
  auto next = some_placement();
  next.attempt = 3;
  facts.push_back(next);
  facts.push_back(attempt_fact{id, some_attempt(3)});
  facts.push_back(attempt_removed{id, 1});
  auto course = some_course();
  course.attempts = 3;
  facts.push_back(course);
  auto const found = load_programs(stored(facts));
  ASSERT_TRUE(found) << found.error().message;
  auto const& p = found->front().program;
  EXPECT_TRUE(p.ended.empty());
  EXPECT_EQ(p.attempts, (std::vector{some_attempt(2), some_attempt(3)}));
}

TEST(program_facts, removed_program_leaves_no_entries) {
  auto facts = all_facts();
  facts.push_back(program_removed{id});
  auto const s = stored(facts);
  std::size_t entries = 0;
  EXPECT_TRUE(s.read({}, [&](auto, auto) { return ++entries > 0; }).ok());
  EXPECT_EQ(entries, 0u);
}

// A damaged directory must be rejected before the controller loads it.
TEST(program_facts, inconsistent_facts_are_refused) {
  auto const refused = [](std::string const& what, auto change_one) {
    auto facts = all_facts();
    for (auto& f : facts)
      std::visit(
          [&](auto& one) {
            if constexpr (std::is_invocable_v<decltype(change_one), decltype(one)>) change_one(one);
          },
          f);
    auto const found = load_programs(stored(facts));
    ASSERT_FALSE(found) << what;
    EXPECT_EQ(found.error().code, code::internal) << what;
    EXPECT_NE(found.error().message.find("ent"), std::string::npos) << found.error().message;
  };
  refused("a type that is not there", [](placement_fact& f) { f.ranks[0].group = 2; });
  refused("a place that is not there", [](placement_fact& f) { f.ranks[0].place = 2; });
  refused("no port", [](placement_fact& f) { f.ranks[0].port = 0; });
  refused("no such port", [](placement_fact& f) { f.ranks[0].port = 70'000; });
  refused("no ranks", [](placement_fact& f) { f.ranks.clear(); });
  refused("no lease", [](placement_fact& f) { f.places[0].lease = {}; });
  refused("another attempt", [](placement_fact& f) { f.attempt = 1; });
  refused("a rank of no placement", [](rank_fact& f) { f.name.rank = 3; });
  refused("an end of another attempt", [](rank_fact& f) { f.name.attempt = 1; });
  refused("no such state", [](rank_fact& f) { f.state = rank_state{9}; });
  refused("no such state", [](course_fact& f) { f.state = program_state{9}; });
  refused("no such goal", [](course_fact& f) { f.goal = goal{6}; });
  refused("ranks live when it has ended", [](course_fact& f) { f.state = program_state::failed; });
  refused("it waits with ranks", [](course_fact& f) { f.state = program_state::pending; });
  refused("nothing becomes of it", [](course_fact& f) { f.state = program_state::stopping; });
  refused("an attempt that has not begun stops", [](course_fact& f) { f.stop_at->attempt = 3; });
  refused("no attempt", [](course_fact& f) { f.attempts = 0; });
  refused("no such cause", [](course_fact& f) { f.cause->kind = cause_kind{99}; });
  refused("no such end", [](attempt_fact& f) { f.about.end = program_end{9}; });
  refused("no tasks", [](submitted_fact& f) {
    auto s = *f.spec;
    s.tasks.clear();
    f.spec = std::make_shared<program_spec const>(s);
  });
}

TEST(program_facts, keys_with_other_numbers_than_written_are_refused) {
  using namespace std::string_literals;
  auto const s = stored(all_facts());
  for (auto const* const kind : {"i", "r"})
    for (auto const* const number : {"2", "0000000001x", "4294967297", "-000000001", ""}) {
      auto with = s;
      auto const of = std::string(kind) + '\0';
      std::string key, value;
      ASSERT_TRUE(s.read(of, [&](std::string_view k, std::string_view v) {
                     key = k, value = v;
                     return false;
                   }).ok());
      ASSERT_TRUE(with.write({{change::kind::put, key.substr(0, 19) + number, value}}).ok());
      EXPECT_FALSE(load_programs(with)) << kind << number;
    }
}

TEST(program_facts, a_program_of_which_an_entry_is_missing_is_refused) {
  auto const all = all_facts();
  for (std::size_t missing = 0; missing < all.size(); ++missing) {
    // Optional: an earlier attempt, the end of a rank.
    if (missing == 1 || missing == 4) continue;
    auto facts = all;
    facts.erase(facts.begin() + static_cast<long>(missing));
    EXPECT_FALSE(load_programs(stored(facts))) << missing;
  }
}

}  // namespace program_facts_cases
}  // namespace muster::server::journal
