#include "server/history/rows/ended_rows.hpp"

#include <gtest/gtest.h>

namespace muster::history {
namespace ended_rows_cases {

constexpr row_owner one{1}, two{2};
constexpr std::size_t chunk = ended_rows::chunk_rows;

struct rows_test : testing::Test {
  config limits;
  places where;
  server_wide wide{time_point{}};
  ended_rows rows{limits, where, wide};
  std::uint32_t place = where.add("worker:0", incarnation{1}, "h");
  std::uint64_t last = 0;

  rows_test() {
    limits.session_rows_max = 2 * chunk;
    limits.session_failures_max = chunk;
    rows.open(one);
    rows.open(two);
  }
  closure_id ended(row_owner n, closure_state as = closure_state::succeeded,
                   std::string const& why = "broken") {
    ended_row r;
    r.id = closure_id{++last};
    r.order = static_cast<std::uint32_t>(last);
    r.place = place;
    r.attempt = 1;
    r.state = static_cast<std::uint32_t>(as);
    failure const f{failure_kind::user, "E", why, "line 1\nline 2", "worker:0", 1};
    if (auto const room = rows.room(n, place); !room.empty()) {
      room[0] = r;
      rows.wrote(n, 1);
      if (as != closure_state::succeeded) rows.add(n, f);
    }
    return r.id;
  }
  std::vector<std::uint64_t> ids(row_owner n, ended_rows::part p = ended_rows::newest) {
    std::vector<std::uint64_t> out;
    rows.find(n, p, 0, SIZE_MAX,
              [&](ended_row const& r, failure const*) { out.push_back(raw(r.id)); });
    return out;
  }
};

TEST_F(rows_test, each_session_has_its_own_in_the_order_of_their_ends) {
  ended(one), ended(two), ended(one);
  EXPECT_EQ(ids(one), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(ids(two), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(rows.size(one), 2u);
  EXPECT_EQ(rows.invalid(), "");
}

TEST_F(rows_test, at_least_as_many_as_the_limit_stay_and_little_more) {
  for (std::size_t i = 0; i < 10 * chunk + 1; ++i) ended(one);
  auto const kept = ids(one);
  EXPECT_GE(kept.size(), limits.session_rows_max);
  EXPECT_LE(kept.size(), limits.session_rows_max + chunk);
  EXPECT_EQ(kept.back(), last);
  EXPECT_EQ(kept.front() + kept.size() - 1, last) << "without gaps";
  EXPECT_EQ(rows.invalid(), "");
}

TEST_F(rows_test, nothing_is_allocated_once_a_session_has_its_chunks) {
  for (std::size_t i = 0; i < 4 * chunk; ++i) ended(one);
  auto const bytes = rows.bytes();
  for (std::size_t i = 0; i < 100 * chunk; ++i) ended(one);
  EXPECT_EQ(rows.bytes(), bytes);
}

TEST_F(rows_test, failures_are_kept_longer_with_their_message) {
  auto const a = ended(one, closure_state::failed, "first");
  ended(one, closure_state::cancelled);
  for (std::size_t i = 0; i < 10 * chunk; ++i) ended(one);
  std::vector<std::string> said;
  rows.find(one, ended_rows::failures, 0, SIZE_MAX, [&](ended_row const& r, failure const* f) {
    EXPECT_EQ(r.id, a);
    said.push_back(f->message + " " + f->traceback);
  });
  EXPECT_EQ(said, std::vector<std::string>{"first line 1\nline 2"});
  EXPECT_EQ(rows.invalid(), "");
}

TEST_F(rows_test, newest_failures_are_kept) {
  for (std::size_t i = 0; i < 10 * chunk; ++i) ended(one, closure_state::failed);
  auto const kept = ids(one, ended_rows::failures);
  EXPECT_GE(kept.size(), limits.session_failures_max);
  EXPECT_LE(kept.size(), limits.session_failures_max + chunk);
  EXPECT_EQ(kept.back() + 1, ids(one).front());
  EXPECT_EQ(rows.invalid(), "");
}

TEST_F(rows_test, oldest_chunk_is_removed_above_the_total_byte_limit) {
  ended(one);
  limits.session_rows_bytes_max = rows.bytes() * 2;
  for (std::size_t i = 0; i < chunk; ++i) ended(two);
  EXPECT_EQ(ids(one).size(), 1u);
  ended(two);
  EXPECT_TRUE(ids(one).empty());
  EXPECT_EQ(ids(two).size(), chunk + 1);
  EXPECT_EQ(rows.invalid(), "");
}

TEST_F(rows_test, long_texts_are_cut_and_count) {
  limits.session_rows_bytes_max = 64 * 1024;
  for (int i = 0; i < 100; ++i) {
    ended(one, closure_state::failed, std::string(100'000, 'x'));
    ASSERT_LE(rows.bytes(), limits.session_rows_bytes_max);
    ASSERT_EQ(rows.invalid(), "");
  }
  EXPECT_FALSE(ids(one).empty());
}

TEST_F(rows_test, limit_of_zero_keeps_no_rows) {
  limits.session_rows_max = 0;
  ended(one);
  EXPECT_EQ(rows.size(one), 0u);
  EXPECT_EQ(rows.bytes(), 0u);
}

TEST_F(rows_test, removed_session_leaves_no_rows) {
  for (std::size_t i = 0; i < 10 * chunk; ++i) ended(one, closure_state::failed);
  rows.close(one);
  EXPECT_EQ(rows.bytes(), 0u);
  EXPECT_EQ(wide.row_bytes.used(), 0u);
  EXPECT_EQ(where[place].references, 1u);
  EXPECT_EQ(rows.invalid(), "");
}

TEST_F(rows_test, can_be_read_in_parts) {
  for (std::size_t i = 0; i < chunk + 10; ++i) ended(one);
  std::size_t seen = 0, steps = 0;
  for (std::optional<std::uint64_t> at = 0; at; ++steps)
    at = rows.find(one, ended_rows::newest, *at, 50,
                   [&](ended_row const&, failure const*) { ++seen; });
  EXPECT_EQ(seen, chunk + 10);
  EXPECT_EQ(steps, 3u);
}

}  // namespace ended_rows_cases
}  // namespace muster::history
