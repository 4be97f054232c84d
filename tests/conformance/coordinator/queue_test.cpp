// The original tests of the closure queue: put is schedule, get is a worker.
#include <thread>

#include "tests/conformance/coordinator/fixture.hpp"

namespace muster::test {
namespace {

struct coordinator_conformance_queue : conformance {
  coordinator_conformance_queue() : conformance(1) {}
};

TEST_F(coordinator_conformance_queue, testBasic) {
  auto const v = c->schedule<int>("hold");
  held.wait_for(1);
  EXPECT_FALSE(c->done()) << "not while it is in flight";
  held.open();
  EXPECT_EQ(v.fetch(), 1);
  EXPECT_EQ(c->schedule<int>("put_back_once").fetch(), 1) << "got again after it was requeued";
  EXPECT_TRUE(c->done());
  EXPECT_TRUE(c->join());
}

TEST_F(coordinator_conformance_queue, testProcessAtLeaseOnce) {
  start_worker();
  std::vector<remote_value<int>> all;
  for (int i = 0; i < 100; ++i) all.push_back(c->schedule<int>("step", 1));
  EXPECT_TRUE(c->join());
  EXPECT_TRUE(c->join());
  EXPECT_EQ(steps, 100);
  for (auto const& v : all) EXPECT_EQ(v.fetch(), 1);
}

TEST_F(coordinator_conformance_queue, testNotifyBeforeWait) {
  c->schedule<int>("step", 1).fetch();
  EXPECT_TRUE(c->join());
}

TEST_F(coordinator_conformance_queue, testWaitRaiseErrorAfterMarkFailure) {
  auto const v = c->schedule<int>("hold_then_fail", "late");
  held.wait_for(1);
  std::thread opening([&] { held.open(); });
  EXPECT_EQ(raised_by([&] { c->join(); }), "late");
  EXPECT_TRUE(c->done());
  opening.join();
}

TEST_F(coordinator_conformance_queue, testPutRaiseError) {
  auto const queued = c->schedule<int>("nobody.has.this");
  auto const bad = c->schedule<int>("fail", "first");
  EXPECT_THROW(bad.fetch(), closure_error);
  EXPECT_EQ(raised_by([&] { c->schedule<int>("step", 1); }), "first");
  EXPECT_THROW(queued.fetch(), cancelled_error);
  EXPECT_EQ(raised_by([&] { c->schedule<int>("step", 1); }), "") << "cleared";
  EXPECT_TRUE(c->join());
  EXPECT_EQ(steps, 1);
}

TEST_F(coordinator_conformance_queue, testWaitRaiseError) {
  auto const queued = c->schedule<int>("nobody.has.this");
  c->schedule<int>("fail", "first");
  EXPECT_EQ(raised_by([&] { c->join(); }), "first");
  EXPECT_THROW(queued.fetch(), cancelled_error);
  EXPECT_EQ(raised_by([&] { c->join(); }), "");
}

TEST_F(coordinator_conformance_queue, testDoneRaiseError) {
  auto const bad = c->schedule<int>("fail", "first");
  EXPECT_THROW(bad.fetch(), closure_error);
  EXPECT_EQ(raised_by([&] { c->done(); }), "first");
  EXPECT_TRUE(c->done());
}

// The call that raises waits for the second running closure. It reports only the first error.
template <class Call>
void after_cancel_closure(conformance& t, Call call) {
  t.start_worker();
  t.start_worker();
  auto const other = t.c->schedule<int>("hold_then_fail", "second");
  t.held.wait_for(1);
  // Before the failing closure: schedule raises its error.
  auto const queued = t.c->schedule<int>("nobody.has.this");
  auto const first = t.c->schedule<int>("fail", "first");
  EXPECT_THROW(first.fetch(), closure_error);
  std::thread opening([&] {
    t.wait_stopping();
    t.held.open();
  });
  EXPECT_EQ(raised_by(call), "first");
  EXPECT_EQ(t.held.waiting, 0);
  EXPECT_EQ(t.running(), 0u);
  EXPECT_EQ(raised_by([&] { other.fetch(); }), "second");
  EXPECT_THROW(queued.fetch(), cancelled_error);
  EXPECT_EQ(raised_by([&] { t.c->join(); }), "");
  opening.join();
}

TEST_F(coordinator_conformance_queue, testWaitRaiseErrorAfterCancelClosure) {
  after_cancel_closure(*this, [this] { c->join(); });
}

TEST_F(coordinator_conformance_queue, testPutRaiseErrorAfterCancelClosure) {
  after_cancel_closure(*this, [this] { c->schedule<int>("step", 1); });
}

TEST_F(coordinator_conformance_queue, testStateIsRestoredAfterJoinIsCalled) {
  c->schedule<int>("fail", "first");
  EXPECT_EQ(raised_by([&] { c->join(); }), "first");
  EXPECT_EQ(c->schedule<int>("step", 1).fetch(), 1);
}

TEST_F(coordinator_conformance_queue, testThreadSafey) {
  start_worker();
  std::vector<std::thread> all;
  for (int t = 0; t < 10; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 20; ++i) c->schedule<int>("step", 1);
    });
  for (auto& t : all) t.join();
  EXPECT_TRUE(c->join());
  EXPECT_TRUE(c->done());
  EXPECT_EQ(steps, 200);
}

}  // namespace
}  // namespace muster::test
