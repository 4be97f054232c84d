#include "server/hub/log_store.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::server {
namespace {

using core::closure_id;
using core::session_id;

constexpr session_id job{1}, other_job{2};
constexpr closure_id a{10}, b{11}, c{12};

struct log_store_test : testing::Test {
  void SetUp() override {
    limits.line_bytes_max = 20;
    limits.closure_lines_max = 3;
  }
  log_store& store() {
    if (!store_) store_.emplace(limits);
    return *store_;
  }
  void add(closure_id of, std::string text, session_id in = job, std::uint32_t attempt = 1) {
    log_line l;
    l.closure = of;
    l.attempt = attempt;
    l.text = std::move(text);
    store().add(in, std::move(l));
  }
  static std::vector<std::string> texts(log_page const& p) {
    std::vector<std::string> out;
    for (auto const& l : p.lines) out.push_back(l.text);
    return out;
  }
  std::vector<std::string> of_closure(closure_id of, std::uint64_t after = 0) {
    return texts(store().after({job, of}, after, 100));
  }
  std::vector<std::string> of_job(session_id of = job, std::uint64_t after = 0) {
    return texts(store().after({of, {}}, after, 100));
  }
  using list = std::vector<std::string>;

  log_limits limits;

 private:
  std::optional<log_store> store_;
};

TEST_F(log_store_test, unfinished_line_is_replaced_by_the_next_one) {
  add(a, "first");
  for (int i = 0; i < 6'000; ++i) add(a, std::to_string(i) + "/6000\r");
  EXPECT_EQ(of_closure(a), (list{"first", "5999/6000\r"}));
  add(b, "another closure");
  add(a, "another attempt", job, 2);
  EXPECT_EQ(of_closure(a), (list{"first", "5999/6000\r", "another attempt"}));
  add(b, "1\r");
  add(b, "2");
  add(b, "3");
  EXPECT_EQ(of_closure(b), (list{"another closure", "2", "3"}));
  EXPECT_EQ(store().after({job, a}, 0, 100).dropped, 0u);
  store().take_new_lines();
  add(c, "0123456789012345678901\r");
  EXPECT_EQ(of_closure(c), list{"01234567890123456789 … 2 bytes cut\r"});
  EXPECT_TRUE(store().take_new_lines().empty()) << "the history receives complete lines";
  auto const counted = store().count();
  store().release(job);
  EXPECT_GT(counted.bytes, 0u);
  EXPECT_EQ(store().count().bytes, 0u);
}

TEST_F(log_store_test, lines_of_a_closure_and_of_its_job_in_order_of_arrival) {
  add(a, "a1");
  add(b, "b1");
  add(a, "a2");
  add(c, "c1", other_job);
  EXPECT_EQ(of_closure(a), (list{"a1", "a2"}));
  EXPECT_EQ(of_job(), (list{"a1", "b1", "a2"}));
  EXPECT_EQ(of_job(other_job), (list{"c1"}));
  EXPECT_EQ(of_job(session_id{9}), list{});
  EXPECT_EQ(store().after({job, {}}, 0, 100).lines[1].seq, 2u);
}

TEST_F(log_store_test, a_page_begins_after_a_number_and_has_a_limit) {
  for (auto const* t : {"1", "2", "3"}) add(a, t);
  EXPECT_EQ(of_closure(a, 1), (list{"2", "3"}));
  EXPECT_EQ(of_job(job, 2), list{"3"});
  EXPECT_EQ(of_job(job, 99), list{});
  auto const p = store().after({job, a}, 0, 2);
  EXPECT_EQ(texts(p), (list{"1", "2"}));
  EXPECT_EQ(p.last, 3u);
}

TEST_F(log_store_test, new_lines_are_taken_once_after_the_first_request) {
  auto const taken = [this] {
    list out;
    for (auto const& [of, line] : store().take_new_lines())
      out.push_back(std::to_string(raw(of)) + " " + line.text);
    return out;
  };
  add(a, "before");
  EXPECT_EQ(taken(), list{});
  add(a, "one");
  add(b, "two", other_job);
  EXPECT_EQ(taken(), (list{"1 one", "2 two"}));
  EXPECT_EQ(taken(), list{});
  for (char const* text : {"1", "2", "3", "4"}) add(c, text);
  EXPECT_EQ(taken(), (list{"1 2", "1 3", "1 4"})) << "what is kept of a closure";
  add(a, "gone");
  store().release(job);
  EXPECT_EQ(taken(), list{});
  for (std::size_t i = 0; i < log_store::new_lines_max + 2; ++i)
    add(closure_id{100 + i}, std::to_string(i), session_id{100 + i});
  EXPECT_EQ(taken().size(), log_store::new_lines_max);
}

TEST_F(log_store_test, newest_lines_are_returned) {
  for (auto const* t : {"1", "2", "3"}) add(a, t);
  add(b, "4");
  EXPECT_EQ(texts(store().newest({job, a}, 2)), (list{"2", "3"}));
  EXPECT_EQ(texts(store().newest({job, {}}, 2)), (list{"3", "4"}));
  EXPECT_EQ(texts(store().newest({job, {}}, 100)), (list{"1", "2", "3", "4"}));
  EXPECT_EQ(texts(store().newest({job, a}, 0)), list{});
  EXPECT_EQ(texts(store().newest({session_id{9}, {}}, 5)), list{});
}

TEST_F(log_store_test, oldest_lines_of_a_closure_are_dropped_and_counted) {
  add(b, "b");
  for (auto const* t : {"1", "2", "3", "4", "5"}) add(a, t);
  EXPECT_EQ(of_closure(a), (list{"3", "4", "5"}));
  EXPECT_EQ(of_job(), (list{"b", "3", "4", "5"}));
  EXPECT_EQ(store().after({job, a}, 0, 1).dropped, 2u);
  EXPECT_EQ(store().after({job, b}, 0, 1).dropped, 0u);
  EXPECT_EQ(store().after({job, {}}, 0, 1).dropped, 2u);
  EXPECT_EQ(store().count().dropped, 2u);
  EXPECT_EQ(store().count().lines, 6u);
}

TEST_F(log_store_test, more_bytes_than_a_closure_may_have_drop_its_oldest) {
  limits.closure_bytes_max = 2 * (log_limits::line_overhead + 10);
  for (auto const* t : {"0123456789", "1123456789", "2123456789"}) add(a, t);
  EXPECT_EQ(of_closure(a), (list{"1123456789", "2123456789"}));
  EXPECT_EQ(store().after({job, a}, 0, 1).dropped, 1u);
}

TEST_F(log_store_test, long_line_is_truncated_between_characters_with_a_note) {
  add(a, std::string(19, 'x') + "äöü");
  EXPECT_EQ(of_closure(a), list{std::string(19, 'x') + " … 6 bytes cut"});
}

TEST_F(log_store_test, least_recently_writing_closure_loses_its_lines_when_full) {
  limits.bytes_max = 2 * (log_limits::closure_overhead + log_limits::line_overhead + 1) +
                     log_limits::closure_overhead + 10;
  add(a, "a");
  add(b, "b", other_job);
  store().set_progress(job, a, {0.5, "", {}, 1});  // makes b the one that was silent longest
  add(c, "c");
  EXPECT_EQ(of_job(other_job), list{});
  EXPECT_EQ(store().after({other_job, b}, 0, 1).dropped, 1u);
  EXPECT_EQ(of_job(), (list{"a", "c"}));
  EXPECT_LE(store().count().bytes, limits.bytes_max);
}

TEST_F(log_store_test, ten_thousand_closures_stay_within_the_bytes) {
  limits.bytes_max = 100'000;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    add(closure_id{i}, std::to_string(i), session_id{i % 7 + 1});
    if (i % 3 == 0) store().set_progress(session_id{i % 7 + 1}, closure_id{i}, {0.1, "x", {}, 1});
    ASSERT_LE(store().count().bytes, limits.bytes_max);
  }
  EXPECT_FALSE(of_job(session_id{10'000 % 7 + 1}).empty());
  for (std::uint64_t i = 1; i <= 7; ++i) store().release(session_id{i});
  EXPECT_EQ(store().count().bytes, 0u);
  EXPECT_EQ(store().count().closures, 0u);
}

TEST_F(log_store_test, release_forgets_a_job_and_nothing_else) {
  add(a, "a");
  add(b, "b", other_job);
  store().set_progress(job, a, {0.5, "", {}, 1});
  store().release(job);
  EXPECT_EQ(of_job(), list{});
  EXPECT_EQ(store().progress(a), std::nullopt);
  EXPECT_EQ(store().job_of(a), std::nullopt);
  EXPECT_EQ(of_job(other_job), list{"b"});
  EXPECT_EQ(store().count().bytes, log_limits::closure_overhead + log_limits::line_overhead + 1);
  store().release(session_id{77});
}

TEST_F(log_store_test, progress_is_the_newest_within_its_range) {
  store().set_progress(job, a, {0.25, "first", {}, 1});
  store().set_progress(job, a, {7, "second", {}, 2});
  EXPECT_EQ(store().progress(a), (closure_progress{1, "second", {}, 2}));
  store().set_progress(job, a, {std::nan(""), std::string(300, 'x'), {}, 2});
  EXPECT_EQ(store().progress(a)->fraction, 0);
  EXPECT_EQ(store().progress(a)->text, std::string(200, 'x') + " … 100 bytes cut");
}

TEST_F(log_store_test, waiting_callback_is_called_once_for_a_line_of_its_target) {
  int for_a = 0, for_job = 0, forgotten = 0;
  store().wait({job, a}, [&] { ++for_a; });
  store().wait({job, {}}, [&] { ++for_job; });
  auto const id = store().wait({job, {}}, [&] { ++forgotten; });
  store().forget(id);
  add(c, "c", other_job);
  EXPECT_EQ(for_job, 0);
  add(b, "b");
  EXPECT_EQ(for_a, 0);
  EXPECT_EQ(for_job, 1);
  add(a, "a");
  add(a, "a");
  EXPECT_EQ(for_a, 1);
  EXPECT_EQ(for_job, 1);
  EXPECT_EQ(forgotten, 0);
}

TEST_F(log_store_test, callback_can_wait_again_and_cancel_others) {
  int calls = 0;
  log_store::wait_id second{};
  std::function<void()> again = [&] {
    ++calls;
    store().forget(second);
    store().wait({job, a}, again);
  };
  store().wait({job, a}, again);
  second = store().wait({job, b}, [&] { ADD_FAILURE(); });
  add(a, "1");
  add(a, "2");
  add(b, "3");
  EXPECT_EQ(calls, 2);
}

TEST_F(log_store_test, callback_for_a_released_job_is_not_called) {
  add(a, "1");
  store().wait({job, a}, [] { ADD_FAILURE(); });
  store().release(job);
  add(a, "2");
}

}  // namespace
}  // namespace muster::server
