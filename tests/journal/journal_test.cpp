// Pending changes are written together; a failure is permanent.
#include "server/journal/journal.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "tests/journal/memory_store.hpp"

namespace muster::server::journal {
namespace {

using namespace std::chrono_literals;

std::vector<change> put(std::string const& key) {
  return {{change::kind::put, key, "x"}};
}

class progress_log {
 public:
  journal::progress taker() {
    return [this](std::uint64_t n, muster::status const& s) {
      std::lock_guard const lock(mutex_);
      durable_ = n, failed_ = s;
      ++told_;
      moved_.notify_all();
    };
  }
  bool await(std::uint64_t n) {
    std::unique_lock lock(mutex_);
    return moved_.wait_for(lock, 20s, [&] { return durable_ >= n; });
  }
  muster::status await_failure() {
    std::unique_lock lock(mutex_);
    moved_.wait_for(lock, 20s, [&] { return !failed_.ok(); });
    return failed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t durable_ = 0, told_ = 0;
  muster::status failed_;
};

/// The first write blocks until `go`; writes from number `bad` on fail.
class slow_store final : public store {
 public:
  struct view {
    std::mutex mutex;
    std::vector<std::vector<change>> writes;
    std::promise<void> begun, go;
  };
  explicit slow_store(view& v, std::size_t bad = 1000) : view_(v), bad_(bad) {}

  muster::status write(std::vector<change> const& batch) override {
    auto const n = count_++;
    if (n == 0) {
      view_.begun.set_value();
      view_.go.get_future().wait_for(20s);
    }
    if (n >= bad_) return {code::internal, "no space"};
    std::lock_guard const lock(view_.mutex);
    view_.writes.push_back(batch);
    return {};
  }
  muster::status read(std::string_view, visitor const&) const override { return {}; }
  std::uint64_t bytes_on_disk() const override { return 0; }

 private:
  view& view_;
  std::size_t const bad_;
  std::size_t count_ = 0;
};

TEST(journal, changes_during_a_slow_write_are_combined_into_one) {
  slow_store::view v;
  progress_log told;
  journal j(std::make_unique<slow_store>(v), {}, told.taker());
  EXPECT_EQ(j.append(put("a")), 1u);
  v.begun.get_future().wait();
  for (auto const* key : {"b", "c", "d"}) j.append(put(key));
  EXPECT_EQ(j.facts().durable, 0u);
  v.go.set_value();
  ASSERT_TRUE(told.await(4));
  ASSERT_EQ(v.writes.size(), 2u);
  EXPECT_EQ(v.writes[0].size(), 1u);
  ASSERT_EQ(v.writes[1].size(), 3u);
  EXPECT_EQ(v.writes[1][0].key + v.writes[1][1].key + v.writes[1][2].key, "bcd");
  auto const f = j.facts();
  EXPECT_EQ(f.writes, 2u);
  EXPECT_EQ(f.waiting_bytes, 0u);
}

TEST(journal, changes_are_batched_only_while_the_disk_is_busy) {
  slow_store::view v;
  progress_log told;
  journal j(std::make_unique<slow_store>(v), {.commit_delay = 10s}, told.taker());
  j.append(put("a"));
  v.begun.get_future().wait();
  v.go.set_value();
  ASSERT_TRUE(told.await(1)) << "at once";
  j.append(put("b"));
  ASSERT_TRUE(told.await(2)) << "at once, too";
  j.stop();
  EXPECT_EQ(v.writes.size(), 2u);

  slow_store::view w;
  progress_log heard;
  journal k(std::make_unique<slow_store>(w), {.commit_delay = 1s}, heard.taker());
  k.append(put("a"));
  w.begun.get_future().wait();
  k.append(put("b"));
  w.go.set_value();
  ASSERT_TRUE(heard.await(1));
  k.append(put("c"));
  ASSERT_TRUE(heard.await(3));
  k.stop();
  ASSERT_EQ(w.writes.size(), 2u);
  EXPECT_EQ(w.writes[1].size(), 2u);
}

class small_disk final : public store {
 public:
  explicit small_disk(std::atomic<std::uint64_t>& room) : room_(room) {}
  muster::status write(std::vector<change> const&) override { return {}; }
  muster::status read(std::string_view, visitor const&) const override { return {}; }
  std::uint64_t bytes_on_disk() const override { return 0; }
  std::optional<std::uint64_t> bytes_free() const override { return room_; }

 private:
  std::atomic<std::uint64_t>& room_;
};

TEST(journal, keeps_a_reserve_and_resumes_when_space_is_free) {
  std::atomic<std::uint64_t> room = 99;
  std::mutex mutex;
  std::condition_variable moved;
  int told = 0;
  std::uint64_t durable = 0;
  journal j(std::make_unique<small_disk>(room), {.reserve_bytes = 100},
            [&](std::uint64_t n, muster::status const&) {
              std::lock_guard const lock(mutex);
              durable = n, ++told;
              moved.notify_all();
            });
  EXPECT_TRUE(j.full()) << "nothing new";
  EXPECT_EQ(j.facts().free_bytes, 99u);
  j.append(put("outcome"));
  std::unique_lock lock(mutex);
  EXPECT_TRUE(moved.wait_for(lock, 20s, [&] { return durable == 1; })) << "but what was accepted";
  auto const before = told;
  room = 100;
  EXPECT_TRUE(moved.wait_for(lock, 20s, [&] { return told > before; })) << "without a write";
  EXPECT_FALSE(j.full());
}

class full_store final : public store {
 public:
  struct view {
    std::atomic<bool> full = true;
    std::atomic<int> tries = 0;
    std::function<void()> during_first = [] {};
    std::vector<std::vector<change>> writes;  // read after the journal has stopped
  };
  explicit full_store(view& v) : view_(v) {}
  muster::status write(std::vector<change> const& batch) override {
    if (++view_.tries == 1) view_.during_first();
    if (view_.full) return {code::resource_exhausted, "no space"};
    view_.writes.push_back(batch);
    return {};
  }
  muster::status read(std::string_view, visitor const&) const override { return {}; }
  std::uint64_t bytes_on_disk() const override { return 0; }

 private:
  view& view_;
};

TEST(journal, write_without_space_is_retried_and_not_acknowledged) {
  full_store::view v;
  std::mutex mutex;
  std::condition_variable moved;
  std::vector<std::uint64_t> told;
  journal j(std::make_unique<full_store>(v), {}, [&](std::uint64_t n, muster::status const& s) {
    EXPECT_TRUE(s.ok());
    std::lock_guard const lock(mutex);
    told.push_back(n);
    moved.notify_all();
  });
  EXPECT_FALSE(j.full());
  j.append(put("a"));
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(moved.wait_for(lock, 20s, [&] { return !told.empty(); }));
    EXPECT_EQ(told, std::vector<std::uint64_t>{0}) << "that the disk is full";
  }
  EXPECT_TRUE(j.full());
  EXPECT_TRUE(j.facts().failed.ok());
  j.append(put("b"));
  EXPECT_EQ(j.facts().durable, 0u);
  EXPECT_GT(j.facts().waiting_bytes, 0u);
  v.full = false;
  std::unique_lock lock(mutex);
  EXPECT_TRUE(moved.wait_for(lock, 20s, [&] { return told.back() == 2; }));
  EXPECT_FALSE(j.full());
  j.stop();
  ASSERT_EQ(v.writes.size(), 1u);
  ASSERT_EQ(v.writes[0].size(), 2u);
  EXPECT_EQ(v.writes[0][0].key, "a");
  EXPECT_EQ(v.writes[0][1].key, "b");
  EXPECT_EQ(j.facts().waiting_bytes, 0u);
}

TEST(journal, retried_changes_precede_those_that_arrived_during_the_write) {
  full_store::view v;
  progress_log told;
  journal* own = nullptr;
  std::promise<void> failed;
  v.during_first = [&] {
    own->append(put("b"));
    failed.set_value();
  };
  journal j(std::make_unique<full_store>(v), {}, told.taker());
  own = &j;
  j.append(put("a"));
  failed.get_future().wait();
  while (!j.full()) std::this_thread::yield();  // the first write has failed
  v.full = false;
  ASSERT_TRUE(told.await(2));
  j.stop();
  ASSERT_EQ(v.writes.size(), 1u);
  ASSERT_EQ(v.writes[0].size(), 2u);
  EXPECT_EQ(v.writes[0][0].key + v.writes[0][1].key, "ab");
}

TEST(journal, is_full_while_too_much_waits) {
  slow_store::view v;
  progress_log told;
  journal j(std::make_unique<slow_store>(v), {.queue_bytes_max = 200}, told.taker());
  j.append(put("a"));
  v.begun.get_future().wait();
  EXPECT_FALSE(j.full());
  j.append({{change::kind::put, "b", std::string(200, 'x')}});
  EXPECT_TRUE(j.full());
  v.go.set_value();
  ASSERT_TRUE(told.await(2));
  EXPECT_FALSE(j.full());
}

TEST(journal, does_not_retry_after_a_failed_write) {
  slow_store::view v;
  progress_log told;
  journal j(std::make_unique<slow_store>(v, 1), {}, told.taker());
  v.go.set_value();
  j.append(put("a"));
  ASSERT_TRUE(told.await(1));
  j.append(put("b"));
  EXPECT_EQ(told.await_failure().message, "no space");
  j.append(put("c"));
  j.stop();
  EXPECT_EQ(v.writes.size(), 1u);
  EXPECT_EQ(j.facts().durable, 1u);
  EXPECT_FALSE(j.facts().failed.ok());
}

TEST(journal, stop_writes_queued_changes) {
  slow_store::view v;
  progress_log told;
  journal j(std::make_unique<slow_store>(v), {}, told.taker());
  j.append(put("a"));
  v.begun.get_future().wait();
  j.append(put("b"));
  v.go.set_value();
  j.stop();
  EXPECT_EQ(v.writes.size(), 2u);
  EXPECT_EQ(j.facts().durable, 2u);
}

TEST(journal, idle_journal_stops_at_once) {
  progress_log told;
  journal j(std::make_unique<memory_store>(), {}, told.taker());
  j.stop();
  EXPECT_EQ(j.facts().writes, 0u);
}

}  // namespace
}  // namespace muster::server::journal
