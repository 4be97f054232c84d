#include "muster/one_at_a_time.hpp"

#include <atomic>
#include <set>

#include "tests/client/coordinator_fixture.hpp"

namespace muster::test {
namespace {

std::atomic<int> inside = 0;
std::atomic<int> most_inside = 0;

/// Not thread-safe, and slow enough for concurrent calls to overlap.
struct counter {
  explicit counter(int first) : next(first) {}

  int take() {
    int const together = ++inside;
    if (together > most_inside) most_inside = together;
    int const mine = next;
    std::this_thread::sleep_for(milliseconds(1));
    next = mine + 1;
    --inside;
    return mine;
  }

  int next;
};

TEST_F(coordinator, one_at_a_time_value_serves_one_call_at_a_time) {
  auto w = options_for(server.address());
  w.slots = 4;
  w.job = "reader";
  worker_thread readers(w, [](worker& to) {
    to.function("open", [](int first) { return std::make_shared<one_at_a_time<counter>>(first); });
    to.function("next", [](std::shared_ptr<one_at_a_time<counter>> const& c) {
      return c->use([](counter& each) { return each.take(); });
    });
  });
  auto const rows = c->create_per_worker_value("open", 100);
  std::vector<remote_value<int>> taken;
  for (int i = 0; i < 100; ++i) taken.push_back(c->schedule<int>("next", rows));
  std::set<int> seen;
  for (auto const& v : taken) seen.insert(v.fetch());
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(*seen.begin(), 100);
  EXPECT_EQ(most_inside, 1);
}

TEST_F(coordinator, output_of_another_type_names_the_function) {
  auto const sum = c->schedule<std::string>("add", 1, 2);
  try {
    sum.fetch();
    FAIL() << "3 is not a string";
  } catch (boost::system::system_error const& e) {
    EXPECT_STREQ(e.what(), "the output of 'add' is not a string: 3");
  }
}

}  // namespace
}  // namespace muster::test
