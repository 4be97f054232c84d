// The resolver answers only when the test tells it to, so nothing depends on time.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <variant>

#include "muster/cluster_watch.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
constexpr auto patience = 60s;

/// A blocking queue between two threads.
template <class T>
class passage {
 public:
  void put(T value) {
    std::lock_guard const lock(mutex_);
    items_.push_back(std::move(value));
    filled_.notify_all();
  }
  std::optional<T> take(std::chrono::milliseconds at_most = patience) {
    std::unique_lock lock(mutex_);
    if (!filled_.wait_for(lock, at_most, [&] { return !items_.empty(); })) return {};
    auto value = std::move(items_.front());
    items_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> items_;
};

struct gone {};  // ends an unanswered call

class scripted_resolver : public cluster_resolver {
 public:
  using answer = std::variant<muster::cluster_spec, cluster_error, gone>;
  muster::cluster_spec cluster_spec() override {
    asked.put(++calls_);
    auto const next = answers.take();
    if (!next || std::holds_alternative<gone>(*next))
      throw cluster_error(cluster_error::code::unreachable, "the test is over");
    if (auto const* e = std::get_if<cluster_error>(&*next)) throw *e;
    return std::get<muster::cluster_spec>(*next);
  }
  passage<answer> answers;
  passage<int> asked;

 private:
  int calls_ = 0;
};

struct watching {
  explicit watching(cluster_watch::options o = {1ms, 1ms, 1ms},
                    std::optional<cluster_spec> known = {})
      : watch(resolver, o,
              {[this](cluster_spec const& s) { told.put(s.to_json()); },
               [this](cluster_error const& e) { told.put(std::string("failed: ") + e.what()); },
               [this] { told.put("recovered"); }},
              std::move(known)) {}
  ~watching() {
    resolver->answers.put(gone());
    watch.stop();
  }
  void answer(char const* json) { resolver->answers.put(cluster_spec::from_json(json)); }
  void fail(char const* line) {
    resolver->answers.put(cluster_error(cluster_error::code::unreachable, line));
  }

  passage<std::string> told;
  std::shared_ptr<scripted_resolver> resolver = std::make_shared<scripted_resolver>();
  cluster_watch watch;
};

TEST(cluster_watch, reports_the_first_answer_and_every_change) {
  watching w;
  w.answer(R"({"w":["a"]})");
  w.answer(R"({"w":["a"]})");
  w.answer(R"({"w":["a","b"]})");
  EXPECT_EQ(w.told.take(), R"({"w":["a"]})");
  EXPECT_EQ(w.told.take(), R"({"w":["a","b"]})");
}

TEST(cluster_watch, does_not_report_known_specs) {
  watching w({1ms, 1ms, 1ms}, cluster_spec::from_json(R"({"w":["a"]})"));
  w.answer(R"({"w":["a"]})");
  w.answer("{}");
  EXPECT_EQ(w.told.take(), "{}");
}

TEST(cluster_watch, reports_a_failure_once_until_it_changes_or_ends) {
  watching w;
  w.answer(R"({"w":["a"]})");
  w.fail("no route");
  w.fail("no route");
  w.fail("denied");
  w.answer(R"({"w":["a"]})");
  w.fail("denied");
  w.answer(R"({"w":["b"]})");
  for (auto const* expected : {R"({"w":["a"]})", "failed: no route", "failed: denied", "recovered",
                               "failed: denied", "recovered", R"({"w":["b"]})"})
    EXPECT_EQ(w.told.take(), expected);
}

TEST(cluster_watch, refresh_resolves_at_once) {
  watching w({24h, 24h, 24h});
  w.answer(R"({"w":["a"]})");
  ASSERT_TRUE(w.told.take());
  w.answer(R"({"w":["b"]})");
  w.watch.refresh();
  EXPECT_EQ(w.told.take(), R"({"w":["b"]})");
}

TEST(cluster_watch, stops_while_it_waits) {
  watching w({24h, 24h, 24h});
  w.answer("{}");
  ASSERT_TRUE(w.told.take());
  EXPECT_TRUE(w.watch.stop());
  EXPECT_TRUE(w.watch.stop());
}

TEST(cluster_watch, a_resolver_that_hangs_does_not_hold_up_the_stop) {
  watching w;
  ASSERT_TRUE(w.resolver->asked.take());
  EXPECT_FALSE(w.watch.stop(0ms));
  w.answer(R"({"w":["late"]})");
  EXPECT_FALSE(w.told.take(20ms)) << "no report after the stop";
}

TEST(cluster_watch, delays_double_up_to_a_limit) {
  cluster_watch::options const o{30s, 1s, 10s};
  EXPECT_EQ(delay_after(o, 0), 30s);
  EXPECT_EQ(delay_after(o, 1), 1s);
  EXPECT_EQ(delay_after(o, 2), 2s);
  EXPECT_EQ(delay_after(o, 4), 8s);
  EXPECT_EQ(delay_after(o, 5), 10s);
  EXPECT_EQ(delay_after(o, 4'000'000'000u), 10s);
  EXPECT_EQ(delay_after({30s, 5s, 1s}, 3), 5s) << "never below the first";
}

}  // namespace
}  // namespace muster
