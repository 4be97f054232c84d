#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <thread>

#include "muster/variable.hpp"
#include "tests/client/objects/objects_fixture.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::test {
namespace {

using floats = std::vector<float>;
using places = std::vector<std::int64_t>;

struct variables : objects {
  std::optional<worker_thread> second;
  variables() { second.emplace(ps_at(server.address(), 1), add_classes); }

  variable_options in_two(std::string name = {}) {
    return {.name = std::move(name),
            .tasks = {"ps:0", "ps:1"},
            .partitioner = fixed_shards_partitioner(2)};
  }
};

TEST_F(variables, are_read_assigned_and_added_to) {
  for (auto const& o : {variable_options{.task = "ps:1"}, in_two()}) {
    auto const v = c->make_variable<float>(o, {3, 2});
    EXPECT_EQ(v.tasks().back(), "ps:1");
    v.assign(floats{1, 1, 1, 1, 1, 1});
    v.assign_add(floats{1, 2, 3, 4, 5, 6});
    v.assign_sub(1);
    v.scatter_add(places{2, 2, 0}, floats{1, 1, 10, 10, 100, 100});
    v.scatter_sub(places{1}, floats{1, 1});
    auto const all = v.read().fetch();
    EXPECT_EQ(all.shape, (shape{3, 2}));
    EXPECT_EQ(all.data, (floats{101, 102, 2, 3, 16, 17}));
    EXPECT_EQ(v.gather(places{2, 0, 2}).fetch().data, (floats{16, 17, 101, 102, 16, 17}));
    EXPECT_EQ(v.gather(places{}).fetch().shape, (shape{0, 2}));
    EXPECT_EQ(v.read_rows(1, 3).fetch().data, (floats{2, 3, 16, 17}));
    EXPECT_EQ(v.read_rows(1, 1).fetch().shape, (shape{0, 2}));
    v.assign_rows(1, floats{7, 7, 8, 8});
    v.scatter_update(places{0, 0}, floats{1, 1, 2, 2});
    EXPECT_EQ(v.read().fetch().data, (floats{2, 2, 7, 7, 8, 8}));
    v.assign(5);
    EXPECT_EQ(v.read().fetch().data, (floats{5, 5, 5, 5, 5, 5}));
    v.erase();
    EXPECT_THROW(v.read().fetch(), closure_error);
  }
}

TEST_F(variables, numeric_types_are_supported) {
  auto const n = c->make_variable<std::int64_t>({}, {}, std::vector<std::int64_t>{40});
  n.assign_add(2);
  EXPECT_EQ(n.read().fetch().data.at(0), 42);
  EXPECT_EQ(n.read().fetch().shape, shape{});
  auto const i = c->make_variable<std::int32_t>({.ones = true}, {2});
  i.assign_add(std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(i.read().fetch().data.at(0), std::numeric_limits<std::int32_t>::min())
      << "integers wrap around";
  auto const d = c->make_variable<double>({.ones = true}, {2});
  d.assign_sub(0.5);
  EXPECT_EQ(d.read().fetch().data, (std::vector<double>{0.5, 0.5}));
  auto const b = c->make_variable<std::uint8_t>({}, {2});
  b.assign(std::vector<std::uint8_t>{1, 255});
  EXPECT_EQ(b.read().fetch().data.at(1), 255);
  EXPECT_THROW(b.assign_add(std::uint8_t{1}), std::invalid_argument);
}

TEST_F(variables, are_found_by_name) {
  auto const one = c->make_variable<float>({.name = "one"}, {3}, floats{1, 2, 3});
  auto const two = c->make_variable<float>(in_two("two"), {5, 2}, floats(10, 2));
  cluster_coordinator other({.server = server.address()});
  EXPECT_EQ(other.get_variable<float>("one").read().fetch().data, (floats{1, 2, 3}));
  auto const found = other.get_variable<float>("two");
  EXPECT_EQ(found.shape(), (shape{5, 2}));
  EXPECT_EQ(found.tasks(), (std::vector<std::string>{"ps:0", "ps:1"}));
  EXPECT_EQ(found.read().fetch().data, floats(10, 2));
  EXPECT_EQ(other.get_variable<float>("two/part_1").shape(), (shape{2, 2}));
  EXPECT_THROW(other.get_variable<double>("one"), std::invalid_argument);
  EXPECT_THROW(other.get_variable<float>("none"), closure_error);
  c->create({.task = "ps:0", .name = "counter"}, "Counter", 1);
  EXPECT_THROW(other.get_variable<float>("counter"), std::invalid_argument);
  EXPECT_THROW(c->make_variable<float>({.name = "one"}, {3}), closure_error) << "it is taken";
}

TEST_F(variables, errors_are_raised_at_the_call) {
  for (auto const& o : {variable_options{}, in_two()}) {
    auto const v = c->make_variable<float>(o, {3});
    EXPECT_EQ(thrown_by<std::invalid_argument>([&] {
                v.assign(floats{1, 2});
              }).what(),
              std::string("shape: the variable has (3,), the argument has 2 numbers"));
    EXPECT_EQ(thrown_by<std::out_of_range>([&] {
                v.gather(places{0, 3});
              }).what(),
              std::string("index 3: the number of rows is 3"));
    EXPECT_THROW(v.scatter_add(places{-1}, floats{1}), std::out_of_range);
    EXPECT_THROW(v.scatter_add(places{0, 1}, floats{1}), std::invalid_argument);
    EXPECT_THROW(v.read_rows(1, 4), std::out_of_range);
    EXPECT_THROW(v.assign_rows(2, floats{1, 2}), std::out_of_range);
    EXPECT_THROW(v.sgd(floats{1, 2, 3}, std::nan("")), std::invalid_argument);
    EXPECT_THROW(v.adam(floats{1, 2, 3}, {.beta1 = 1}), std::invalid_argument);
    EXPECT_EQ(v.read().fetch().data, (floats{0, 0, 0}));
  }
  EXPECT_THROW(c->make_variable<float>({}, {3}, floats{1}), std::invalid_argument);
  EXPECT_THROW(c->make_variable<float>({.task = "ps"}, {3}), std::invalid_argument);
  EXPECT_THROW(c->make_variable<float>({}, {1, 2'000'000}), std::invalid_argument);
  EXPECT_THROW(c->make_variable<float>({.detached = true}, {3}), std::invalid_argument);
  EXPECT_THROW(variable<float>().read(), std::logic_error);
}

// Sends invalid requests through a client without checks.
TEST_F(variables, invalid_updates_are_refused_by_the_task) {
  auto const v = c->make_variable<float>({.name = "v"}, {3});
  auto const o = c->get_object("v");
  auto const e = thrown_by<input_error>([&] { o.call<void>("read").fetch(); });
  EXPECT_EQ(e.message(), "a variable accepts arrays, not JSON; call it through a muster::variable");
  auto const none = c->create({.task = "ps:0"}, "muster.variable", 3);
  auto const why = thrown_by<closure_error>([&] { none.call<void>("read").fetch(); });
  EXPECT_EQ(why.type(), "ValueError");
  EXPECT_EQ(why.message(), "arrays: magic: 8 bytes needed at offset 0, but the data has only 3");
}

TEST_F(variables, apply_optimizer_steps) {
  for (auto const& o : {variable_options{}, in_two()}) {
    auto const v = c->make_variable<float>(o, {4}, floats{1, 1, 1, 1});
    v.sgd(floats{1, 2, 3, 4}, 0.5);
    EXPECT_EQ(v.read().fetch().data, (floats{0.5f, 0, -0.5f, -1}));
    v.assign(0);
    v.sgd(floats{1, 1, 1, 1}, 1, 0.5);
    v.sgd(floats{1, 1, 1, 1}, 1, 0.5);
    EXPECT_EQ(v.read().fetch().data, (floats(4, -2.5f))) << "1, then 1.5";
    v.assign(0);
    v.sgd_rows(places{3, 0, 3}, floats{1, 2, 3}, 1);
    EXPECT_EQ(v.read().fetch().data, (floats{-2, 0, 0, -4}));
    auto const a = c->make_variable<float>(o, {4});
    a.adam(floats{1, -1, 2, 0}, {.learning_rate = 0.1});
    a.adam_rows(places{0, 3}, floats{1, 1}, {.learning_rate = 0.1});
    auto const w = a.read().fetch().data;
    EXPECT_NEAR(w[0], -0.2, 1e-4) << "both steps have the same direction";
    EXPECT_NEAR(w[1], 0.1, 1e-4);
    EXPECT_NEAR(w[2], -0.1, 1e-4);
    EXPECT_LT(w[3], 0);
  }
}

TEST_F(variables, are_arguments_of_functions_on_many_workers) {
  auto const w = c->make_variable<std::int64_t>(in_two(), {2, 3});
  std::vector<std::unique_ptr<worker_thread>> workers;
  for (int i = 0; i < 2; ++i)
    workers.push_back(
        std::make_unique<worker_thread>(options_for(server.address()), [](worker& to) {
          to.function("count", [](variable<std::int64_t> const& v, std::map<std::string, int> by) {
            v.assign_add(by.at("by"));
            v.scatter_add(places{1}, std::vector<std::int64_t>{1, 1, 1}).fetch();
            return v.read().fetch().data.size();
          });
        }));
  auto const n = c->schedule<std::size_t>("count", w, std::map<std::string, int>{{"by", 2}});
  for (int i = 1; i < 500; ++i)
    c->schedule<void>("count", w, std::map<std::string, int>{{"by", 2}});
  c->join();
  EXPECT_EQ(n.fetch(), 6u);
  EXPECT_EQ(w.read().fetch().data, (std::vector<std::int64_t>{1000, 1000, 1000, 1500, 1500, 1500}));
}

// 36 MB per task exceed the size of a call.
TEST_F(variables, large_shards_are_sent_in_pieces) {
  for (auto const& o : {variable_options{}, in_two("large")}) {
    auto const rows = 9000 * (o.tasks.empty() ? 1 : 2);
    floats all(static_cast<std::size_t>(rows) * 1000);
    std::iota(all.begin(), all.end(), 0.0f);
    auto const v = c->make_variable<float>(o, {static_cast<std::uint64_t>(rows), 1000}, all);
    EXPECT_EQ(v.read().fetch().data, all);
    v.assign_add(all).fetch();
    v.sgd(all, 0.5).fetch();
    for (auto& n : all) n = n + n - 0.5f * n;
    EXPECT_EQ(v.read().fetch().data, all);
    v.assign(all);
    places every(static_cast<std::size_t>(rows));
    std::iota(every.rbegin(), every.rend(), std::int64_t{0});
    v.scatter_update(every, all);
    auto const found = v.gather(every).fetch();
    EXPECT_EQ(found.data, all);
    EXPECT_THROW(v.adam(floats(all)), std::invalid_argument);
    v.erase();
  }
}

TEST_F(variables, are_saved_and_restored_into_other_shards) {
  temporary_directory const folder;
  auto const path = folder.path();
  floats all(12);
  std::iota(all.begin(), all.end(), 0.0f);
  auto const v = c->make_variable<float>(in_two("w"), {4, 3}, all);
  auto const n = c->make_variable<std::int64_t>({.name = "n"}, {}, std::vector<std::int64_t>{7});
  EXPECT_EQ(c->restore(path), std::nullopt);
  v.adam(all);
  v.sgd(all, 0.1, 0.9);
  EXPECT_EQ(c->save(path), 1u);
  v.sgd(all, 0.1, 0.9);
  v.adam(all);
  auto const wanted = v.read().fetch().data;
  v.erase();
  n.erase();
  EXPECT_EQ(c->save(path), 2u) << "of nothing";
  cluster_coordinator other({.server = server.address()});
  auto const whole = other.make_variable<float>({.name = "w", .task = "ps:1"}, {4, 3});
  auto const count = other.make_variable<std::int64_t>({.name = "n"}, {});
  EXPECT_THROW(other.restore(path), std::invalid_argument)
      << "the checkpoint has none of the variables";
  std::filesystem::remove_all(folder / "checkpoint-2");
  EXPECT_EQ(other.restore(path), 1u);
  whole.sgd(all, 0.1, 0.9);
  whole.adam(all);
  EXPECT_EQ(whole.read().fetch().data, wanted) << "with its slots";
  EXPECT_EQ(count.read().fetch().data.at(0), 7);
  auto const unnamed = other.make_variable<float>({}, {3});
  EXPECT_THROW(other.save(path), std::invalid_argument);
  unnamed.erase();
  EXPECT_EQ(other.save(path, {.keep = 1}), 2u);
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint-1"));
  EXPECT_THROW(other.save(path, {.keep = 0}), std::invalid_argument);
}

// A shard above 8 MiB is copied, and saved in pieces.
TEST_F(variables, large_shards_are_saved_consistently) {
  temporary_directory const folder;
  floats all(std::size_t{3} << 20);
  std::iota(all.begin(), all.end(), 0.0f);
  auto const v = c->make_variable<float>({.name = "w"}, {3 << 10, 1 << 10}, all);
  v.sgd(all, 0, 0.5);
  std::atomic<bool> over = false;
  std::thread adds([&] {
    while (!over) v.assign_add(1).fetch();
  });
  c->save(folder.path());
  over = true;
  adds.join();
  EXPECT_EQ(c->restore(folder.path()), 1u);
  auto const found = v.read().fetch().data;
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(found[i] - all[i], found[0]) << "not all values are of the same time, index " << i;
}

TEST_F(variables, lost_task_is_named_by_its_variables) {
  auto const v = c->make_variable<float>(in_two("w"), {4});
  v.assign(1).fetch();
  second.reset();
  auto const e = thrown_by<unavailable_error>([&] { v.read().fetch(); });
  EXPECT_NE(e.message().find("'w/part_1' was lost together with ps:1"), std::string::npos)
      << e.message();
}

}  // namespace
}  // namespace muster::test
