#include "server/core/values/value_store.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace value_store_cases {

constexpr session_number holder{1}, job{2};
constexpr time_point t0{std::chrono::seconds(100)};

config small() {
  config c;
  c.spill = true;
  c.spill_value_bytes_min = 1;
  c.spill_above = 10;
  c.value_bytes_max = 100;
  c.session_values_max = 3;
  return c;
}

struct store_test : testing::Test {
  config limits = small();
  server_wide wide{time_point{}};
  closure_table records{wide};
  changes told;
  value_store store{records, limits, wide, told};

  store_test() {
    store.open(holder, true);
    store.open(job, false);
  }
  slot ended(session_number n, std::string_view value) {
    auto const c = records.allocate(n);
    records[c].phase = closure_phase::succeeded;
    records[c].value = blob(value);
    store.keep(c);
    return c;
  }
  value_moved answer(move_kind k, slot c, bool ok = true) {
    return {k, records.id_of(c), ok, {}, ok ? "" : "disk full"};
  }
};

std::string blob_of(std::uint64_t bytes) {
  return R"({"$blob":")" + std::string(64, 'a') + R"(","bytes":)" + std::to_string(bytes) + "}";
}

TEST(value_names, a_blob_is_as_large_as_its_bytes_and_anything_else_as_its_text) {
  auto const size = [](std::string const& text) { return size_of_value(blob(text)); };
  EXPECT_EQ(size(blob_of(12'000'009)), 12'000'009u);
  EXPECT_EQ(size(blob_of(0)), blob_of(0).size());
  EXPECT_EQ(size("[1,2]"), 5u);
  auto const unsized = R"({"$blob":")" + std::string(64, 'a') + "\"}";
  EXPECT_EQ(size(unsized), unsized.size());
  auto const absurd = blob_of(std::uint64_t{1} << 60);
  EXPECT_EQ(size(absurd), absurd.size()) << "not accepted";
  auto const cut = blob_of(7).substr(0, 80);
  EXPECT_EQ(size(cut), cut.size());
}

// Programs can return any value.
TEST_F(store_test, truncated_blob_name_is_an_ordinary_value) {
  auto const name = blob_of(5'000);
  std::vector<slot> all;
  for (std::size_t length = 0; length <= name.size(); ++length) {
    all.push_back(ended(job, name.substr(0, length)));
    bool const counted = length > 84;  // contains a digit of the size
    EXPECT_EQ(named_blob_bytes(name.substr(0, length)) > 0, counted) << length;
  }
  EXPECT_EQ(store.invalid(), "");
  for (slot const c : all) store.let_go(c);
  EXPECT_EQ(store.of(job).blob_bytes, 0u);
}

TEST_F(store_test, blobs_that_values_name_are_counted_and_their_names_stay_in_memory) {
  auto const a = ended(job, blob_of(5'000)), b = ended(job, blob_of(70));
  EXPECT_EQ(store.of(job).blob_bytes, 5'070u);
  EXPECT_EQ(store.of(job).bytes, blob_of(5'000).size() + blob_of(70).size());
  EXPECT_EQ(store.invalid(), "");
  store.write(t0);
  EXPECT_TRUE(store.take_moves().empty()) << "although more is in memory than the limit";
  EXPECT_TRUE(store.may_be_lost(records[a])) << "the named blob can be on one worker only";
  store.let_go(a);
  EXPECT_EQ(store.of(job).blob_bytes, 70u);
  store.let_go(b);
  EXPECT_EQ(store.of(job).blob_bytes, 0u);
}

TEST_F(store_test, value_that_resembles_a_blob_name_is_spilled_as_usual) {
  auto const large = blob_of(5'000).substr(0, 85) + std::string(1'024, '0') + "}";
  auto const a = ended(job, large);
  EXPECT_TRUE(store.may_be_lost(records[a]));
  store.write(t0);
  ASSERT_EQ(store.take_moves().size(), 1u);
  store.written(answer(move_kind::write, a), t0);
  EXPECT_EQ(store.disk_bytes(), large.size());
  EXPECT_EQ(store.invalid(), "");
}

TEST_F(store_test, name_of_a_recomputed_blob_stays_in_memory) {
  auto const a = ended(holder, "123");
  auto const id = records.id_of(a);
  EXPECT_EQ(store.pop_oldest_in_memory(), a);
  store.drop(a, release_reason::bytes, t0);
  auto const maker = records.allocate(job);
  records[maker].token = raw(id);
  store.begin_rebuilding(id, 1, t0).by = records.id_of(maker);
  blob const name(blob_of(5'000));
  store.end_rebuilding(id, &name);
  store.write(t0);
  EXPECT_TRUE(store.take_moves().empty());
  EXPECT_EQ(store.invalid(), "");
}

TEST_F(store_test, oldest_values_are_spilled_until_the_rest_fits) {
  auto const a = ended(job, "123456"), b = ended(job, "123456"), c = ended(job, "123456");
  store.write(t0);
  auto const moves = store.take_moves();
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].closure, records.id_of(a));
  EXPECT_EQ(moves[1].closure, records.id_of(b));
  EXPECT_EQ(records[c].where, value_place::memory);
  EXPECT_EQ(store.invalid(), "");
  store.written(answer(move_kind::write, a), t0);
  EXPECT_EQ(records[a].where, value_place::disk);
  EXPECT_EQ(store.disk_bytes(), 6u);
  EXPECT_EQ(store.bytes(), 12u) << "one read is in progress, and the value is still in memory";
  EXPECT_EQ(store.invalid(), "");
}

TEST_F(store_test, failed_write_is_logged_and_delays_the_next) {
  auto const a = ended(job, "123456789012");
  store.write(t0);
  auto const failed = store.written(answer(move_kind::write, a, false), t0);
  EXPECT_TRUE(failed.failed && failed.worth_a_line);
  store.take_moves();
  store.write(t0 + std::chrono::seconds(1));
  EXPECT_TRUE(store.take_moves().empty());
  store.write(t0 + limits.spill_retry);
  EXPECT_EQ(store.take_moves().size(), 1u);
}

TEST_F(store_test, read_is_requested_once_and_survives_a_release) {
  auto const a = ended(job, "123456789012");
  store.write(t0);
  store.written(answer(move_kind::write, a), t0);
  store.take_moves();
  store.read(a).token = 5;
  store.read(a);
  EXPECT_EQ(store.take_moves().size(), 1u);
  store.let_go(a);
  auto const done = store.read_back(answer(move_kind::read, a));
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->orphan);
  EXPECT_EQ(done->token, 5u);
  EXPECT_FALSE(store.read_back(answer(move_kind::read, a))) << "without a request";
  EXPECT_EQ(store.take_moves().at(0).kind, move_kind::forget);
}

TEST_F(store_test, a_session_that_holds_too_many_loses_its_oldest) {
  auto const a = ended(holder, "1");
  for (int i = 0; i < 3; ++i) ended(holder, "2");
  EXPECT_EQ(store.over_session_limit(holder), release_reason::session_values);
  EXPECT_EQ(store.oldest_of(holder), records.id_of(a));
  store.pop_oldest_of(holder);
  store.drop(a, release_reason::session_values, t0);
  EXPECT_FALSE(store.over_session_limit(holder));
  EXPECT_FALSE(store.has_value(records.id_of(a)));
  EXPECT_EQ(store.note_of(records.id_of(a))->why, release_reason::session_values);
  EXPECT_EQ(store.held(), 4u) << "its record stays";
  EXPECT_EQ(store.invalid(), "");
}

TEST_F(store_test, lost_value_returns_after_recomputation) {
  auto const a = ended(holder, "123");
  auto const id = records.id_of(a);
  store.drop(a, release_reason::bytes, t0);
  auto const maker = records.allocate(job);
  records[maker].token = raw(id);
  auto& again = store.begin_rebuilding(id, 1, t0);
  again.by = records.id_of(maker);
  again.dependents = {closure_id{9}};
  EXPECT_EQ(store.runs_of(id), 1u);
  EXPECT_EQ(store.invalid(), "");
  blob const value("123");
  EXPECT_EQ(store.end_rebuilding(id, &value).dependents, std::vector{closure_id{9}});
  EXPECT_TRUE(store.has_value(id));
  EXPECT_EQ(store.of(holder).bytes, 3u);
}

}  // namespace value_store_cases
}  // namespace muster::core
