#include "server/core/closures/closure_book.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace closure_book_cases {

constexpr session_number job{1}, stream{2};
constexpr time_point t0{std::chrono::seconds(100)};

struct book_test : testing::Test {
  config limits;
  server_wide wide{time_point{}};
  closure_table records{wide};
  changes told;
  closure_book book{records, limits, told};
  function_id f = *book.functions.intern("f");

  book_test() {
    book.open(job, session_id{1}, true);
    book.open(stream, session_id{2}, false);
  }
  slot create(session_number n) {
    closure_spec spec;
    spec.function = f;
    return book.create(n, spec, 0, t0);
  }
  function_entry const& of_f() const { return book.functions[f]; }
};

TEST_F(book_test, each_closure_is_counted_in_one_state_only) {
  auto const c = create(job);
  EXPECT_EQ(book.counts().queued, 1u);
  EXPECT_EQ(of_f().queued, 1u);
  book.send(c, worker_number{7}, false, t0);
  EXPECT_EQ(book.of(job).counts.sent, 1u);
  EXPECT_EQ(book.of(job).counts.queued, 1u) << "users see it as queued";
  EXPECT_EQ(book.of(job).waiting(), 0u);
  book.start(c, t0);
  EXPECT_EQ(book.of(job).counts.running, 1u);
  EXPECT_EQ(book.of(job).counts.sent, 0u);
  EXPECT_EQ(of_f().running, 1u);
  EXPECT_EQ(records[c].attempt, 1u);
  EXPECT_TRUE(book.finish(c, closure_state::succeeded, t0).was_held);
  EXPECT_EQ(book.counts(), (closure_counts{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(records[c].worker, worker_number{});
  EXPECT_EQ(book.invalid(), "");
}

TEST_F(book_test, blocked_delayed_and_gang_closures_do_not_count_as_queued) {
  auto const blocked = create(stream), delayed = create(stream), ganged = create(stream);
  records[blocked].with_details().inputs_missing = 1;
  book.block(blocked);
  book.defer(delayed, false);
  book.defer(ganged, true);
  EXPECT_EQ(of_f().waiting, 3u);
  EXPECT_EQ(of_f().queued, 0u);
  EXPECT_EQ(book.of(stream).counts.blocked, 1u);
  EXPECT_EQ(book.of(stream).counts.queued, 2u) << "users see them as queued";
  EXPECT_EQ(book.invalid(), "");
  book.unblock(blocked);
  book.end_deferral(delayed);
  EXPECT_FALSE(book.finish(ganged, closure_state::cancelled, t0).was_held);
  EXPECT_EQ(of_f().waiting, 0u);
  EXPECT_EQ(of_f().queued, 2u);
}

TEST_F(book_test, requeued_closures_are_counted_by_reason) {
  auto const c = create(job);
  using enum closure_book::requeue_cause;
  for (auto const why : {loss, retry, retract}) {
    book.send(c, worker_number{1}, why != retract, t0);
    book.requeue(c, why);
  }
  EXPECT_EQ(book.of(job).requeued, 1u);
  EXPECT_EQ(book.of(job).retried, 1u);
  EXPECT_EQ(book.counts().queued, 1u);
  EXPECT_EQ(book.counts().sent, 0u);
  EXPECT_EQ(records[c].attempt, 2u) << "a prefetched closure is not an attempt";
  EXPECT_EQ(book.invalid(), "");
}

TEST_F(book_test, only_a_job_keeps_its_closures_in_order) {
  auto const a = create(job), b = create(job);
  create(stream);
  EXPECT_EQ(book.of(job).closures, (std::vector{a, b}));
  EXPECT_EQ(records[b].order, 1u);
  EXPECT_TRUE(book.of(stream).closures.empty());
}

}  // namespace closure_book_cases
}  // namespace muster::core
