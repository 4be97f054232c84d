#include <algorithm>

#include "server/core/coordinator_state.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(closure_table, an_id_of_a_released_slot_is_not_found_again) {
  server_wide wide{time_point{}};
  closure_table table{wide};
  session_number const owner{1};
  auto const s = table.allocate(owner);
  auto const id = table.id_of(s);
  EXPECT_EQ(table.find(id), s);
  table.release(s, {});
  EXPECT_EQ(table.find(id), no_slot);
  EXPECT_EQ(table.allocate(owner), s) << "slots are reused";
  EXPECT_EQ(table.find(id), no_slot);
  EXPECT_NE(table.id_of(s), id);
  EXPECT_EQ(table.find(table.id_of(s)), s);
}

TEST(closure_table, ids_are_never_zero_even_when_a_generation_wraps) {
  server_wide wide{time_point{}};
  closure_table table{wide};
  session_number const owner{1};
  auto const s = table.allocate(owner);
  EXPECT_NE(table.id_of(s), closure_id{});
  table[s].generation = ~0u;
  table.release(s, {});
  table.allocate(owner);
  EXPECT_EQ(table.id_of(s), closure_id{std::uint64_t{1} << 32});
}

TEST(closure_table, unknown_ids_are_not_found) {
  server_wide wide{time_point{}};
  closure_table table{wide};
  EXPECT_EQ(table.find(closure_id{}), no_slot);
  EXPECT_EQ(table.find(closure_id{~std::uint64_t{}}), no_slot);
}

TEST(closure_table, records_stay_in_place_and_count_over_several_chunks) {
  server_wide wide{time_point{}};
  closure_table table{wide};
  session_number const owner{1};
  auto const first = table.allocate(owner);
  auto const* address = &table[first];
  for (int i = 1; i < 10'000; ++i) table.allocate(owner);
  EXPECT_EQ(&table[first], address);
  EXPECT_EQ(table.size(), 10'000u);
  EXPECT_EQ(wide.chunks, 3u);
  table.release(first, {});
  EXPECT_EQ(table.size(), 9'999u);
  EXPECT_EQ(wide.chunks, 3u);
}

TEST(closure_table, tables_of_one_server_assign_disjoint_ids) {
  server_wide wide{time_point{}};
  closure_table one{wide}, two{wide};
  session_number const owner{1};
  auto const first = one.allocate(owner), second = two.allocate(owner);
  for (int i = 1; i < 5'000; ++i) one.allocate(owner);
  EXPECT_NE(one.id_of(first), two.id_of(second));
  EXPECT_EQ(one.find(two.id_of(second)), no_slot);
  EXPECT_EQ(two.find(one.id_of(first)), no_slot);
  EXPECT_EQ(two.note_of(one.id_of(first)), std::nullopt);
  EXPECT_EQ(wide.chunks, 3u);
  std::size_t seen = 0;
  two.for_each([&](slot s, closure_record const&) { seen += s == second; });
  EXPECT_EQ(seen, 1u);
}

TEST(closure_table, list_elements_are_removed_at_the_front_middle_and_back) {
  server_wide wide{time_point{}};
  closure_table table{wide};
  session_number const owner{1};
  slot_list list;
  slot s[4];
  for (auto& each : s) each = table.allocate(owner);
  table.push_back(list, s[1]);
  table.push_back(list, s[2]);
  table.push_front(list, s[0]);
  table.push_back(list, s[3]);
  auto const order = [&] {
    std::vector<slot> out;
    for (slot i = list.front; i != no_slot; i = table[i].next) out.push_back(i);
    std::vector<slot> backwards;
    for (slot i = list.back; i != no_slot; i = table[i].previous) backwards.push_back(i);
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(out, backwards);
    EXPECT_EQ(out.size(), list.size);
    return out;
  };
  EXPECT_EQ(order(), (std::vector{s[0], s[1], s[2], s[3]}));
  table.remove(list, s[2]);
  EXPECT_EQ(order(), (std::vector{s[0], s[1], s[3]}));
  table.remove(list, s[0]);
  EXPECT_EQ(order(), (std::vector{s[1], s[3]}));
  table.remove(list, s[3]);
  EXPECT_EQ(order(), (std::vector{s[1]}));
  table.remove(list, s[1]);
  EXPECT_EQ(order(), (std::vector<slot>{}));
  table.push_front(list, s[2]);
  EXPECT_EQ(order(), (std::vector{s[2]}));
}

TEST(place_table, place_is_reused_after_its_last_reference) {
  changes told;
  place_table places{told};
  auto const a = places.add("worker:0", incarnation{1}, "h0");
  auto const b = places.add("worker:1", incarnation{2}, "h1");
  places.hold(a);
  places.release(a);
  EXPECT_EQ(places[a].worker, "worker:0");
  EXPECT_EQ(places[a].references, 1u);
  places.release(a);
  EXPECT_EQ(places[a].worker, "");
  EXPECT_NE(places.add("worker:3", incarnation{4}, "h3"), a) << "a number is one entry per step";
  places.begin_step();
  EXPECT_EQ(places.add("worker:2", incarnation{3}, "h2"), a);
  EXPECT_EQ(places[b].host, "h1");
  places.release(place_table::none);
}

TEST(ring, rotates_and_lets_anyone_leave) {
  worker_slots w[3];
  ring<worker_slots, worker_turn> turns;
  auto const order = [&] {
    std::vector<worker_slots*> out;
    for (worker_slots* i = turns.empty() ? nullptr : &turns.front(); i; i = i->turn.next)
      out.push_back(i);
    return out;
  };
  turns.rotate();
  for (auto& each : w) turns.push_back(each);
  EXPECT_EQ(order(), (std::vector{&w[0], &w[1], &w[2]}));
  turns.rotate();
  EXPECT_EQ(order(), (std::vector{&w[1], &w[2], &w[0]}));
  turns.remove(w[2]);
  turns.remove(w[2]);
  EXPECT_FALSE(turns.contains(w[2]));
  EXPECT_EQ(order(), (std::vector{&w[1], &w[0]}));
  turns.remove(w[1]);
  turns.rotate();
  EXPECT_EQ(order(), (std::vector{&w[0]}));
  turns.push_back(w[2]);
  turns.remove(w[0]);
  EXPECT_EQ(order(), (std::vector{&w[2]}));
}

TEST(check, broken_invariant_ends_the_process_with_its_text) {
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_DEATH(check(false, "two and two are four"), "invariant broken: two and two are four");
}

}  // namespace
}  // namespace muster::core
