#include <gtest/gtest.h>
#include <signal.h>

#include <optional>

#include "muster/blobs.hpp"
#include "muster/cluster_coordinator.hpp"
#include "muster/session.hpp"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

class shared_blobs : public testing::Test {
 protected:
  void start(words const& flags = {}) {
    c.serve(flags);
    store.emplace(blobs_options{.server = c.grpc()});
  }
  process& work(words const& more = {}) {
    words all{MUSTER_EXAMPLES "blobs", "worker", c.grpc()};
    all.insert(all.end(), more.begin(), more.end());
    auto& started = c.program(all);
    EXPECT_TRUE(c.await_tasks(1));
    return started;
  }
  std::int64_t at_server() { return c.get("/api/v1/blobs").at("blobs").to_number<std::int64_t>(); }
  std::int64_t elsewhere(char const* what = "values") {
    return c.get("/api/v1/blobs").at("elsewhere").at(what).to_number<std::int64_t>();
  }
  std::int64_t taken(char const* way) {
    return c.get("/api/v1/blobs").at("taken_bytes").at(way).to_number<std::int64_t>();
  }

  cluster c;
  std::optional<blobs> store;
  std::string const bytes = std::string((4 << 20) + 1, 'x');
};

TEST_F(shared_blobs, are_sent_and_returned_without_the_server) {
  start();
  work();
  cluster_coordinator to({.server = c.grpc()});
  {
    auto const doubled = to.schedule<blob>("doubled", store->put(bytes));
    EXPECT_TRUE(*store->get(doubled.fetch()) == bytes + bytes);
    auto const length = to.schedule<std::uint64_t>("length", doubled);
    EXPECT_EQ(length.fetch(), 2 * bytes.size()) << "an output can be an argument";
    EXPECT_EQ(elsewhere("outputs"), 1);
    EXPECT_EQ(at_server(), 0);
  }
  auto const wanted = static_cast<std::int64_t>(3 * bytes.size());
  EXPECT_TRUE(await([&] { return taken("shared") == wanted; })) << taken("shared");
  EXPECT_EQ(taken("server"), 0);
  EXPECT_TRUE(await([&] { return elsewhere() == 0; })) << "nobody needs them any more";
  EXPECT_EQ(at_server(), 0);
}

TEST_F(shared_blobs, many_closures_share_one_content_until_all_have_run) {
  start();
  cluster_coordinator to({.server = c.grpc()});
  std::vector<remote_value<std::uint64_t>> lengths;
  for (int i = 0; i < 8; ++i)
    lengths.push_back(to.schedule<std::uint64_t>("length", store->put(bytes)));
  EXPECT_TRUE(await([&] { return elsewhere() == 1; }));
  work();
  for (auto const& each : lengths) EXPECT_EQ(each.fetch(), bytes.size());
  session s({.server = c.grpc()});
  EXPECT_EQ(s.call<std::uint64_t>("length", store->put(bytes + "y")).get(), bytes.size() + 1);
  EXPECT_EQ(at_server(), 0);
}

TEST_F(shared_blobs, blobs_of_a_killed_worker_are_computed_again) {
  start();
  auto& first = work();
  cluster_coordinator to({.server = c.grpc()});
  auto const doubled = to.schedule<blob>("doubled", store->put(bytes));
  auto const named = doubled.fetch();
  first.kill_at_once();
  EXPECT_TRUE(await([&] { return elsewhere("outputs") == 0; }));
  work();
  EXPECT_TRUE(*store->get(named) == bytes + bytes);
}

TEST_F(shared_blobs, blobs_of_a_worker_that_leaves_are_moved_to_the_server) {
  start();
  auto& worker = work();
  cluster_coordinator to({.server = c.grpc()});
  auto const doubled = to.schedule<blob>("doubled", store->put(bytes));
  auto const named = doubled.fetch();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.errors();
  EXPECT_EQ(at_server(), 1);
  EXPECT_TRUE(*store->get(named) == bytes + bytes);
}

TEST_F(shared_blobs, referenced_by_a_value_outlive_their_client) {
  start();
  work();
  cluster_coordinator to({.server = c.grpc()});
  auto const same = to.schedule<blob>("same", store->put(bytes));
  auto const named = same.fetch();
  EXPECT_TRUE(await([&] { return at_server() == 1; })) << "the value keeps its blob";
  store.reset();
  EXPECT_TRUE(*blobs({.server = c.grpc()}).get({named.sha256}) == bytes);
}

TEST_F(shared_blobs, are_uploaded_before_their_program_exits) {
  start();
  auto const kept = store->put(bytes);
  EXPECT_EQ(at_server(), 0);
  store.reset();
  EXPECT_EQ(at_server(), 1);
  EXPECT_TRUE(*blobs({.server = c.grpc()}).get({kept.sha256}) == bytes);
}

TEST_F(shared_blobs, dropped_handle_is_uploaded_before_its_memory_is_released) {
  start();
  auto const name = store->put(bytes).sha256;
  EXPECT_TRUE(await([&] { return at_server() == 1 && elsewhere() == 0; }));
  EXPECT_TRUE(*store->get({name}) == bytes);
}

TEST_F(shared_blobs, blobs_that_do_not_fit_are_sent_through_the_server) {
  start();
  work({"9000000"});
  store.emplace(blobs_options{.server = c.grpc(), .shm_bytes_max = std::size_t{9'000'000}});
  cluster_coordinator to({.server = c.grpc()});
  std::vector<blob> put;
  for (char x : {'a', 'b', 'c'}) put.push_back(store->put(std::string(bytes.size(), x)));
  EXPECT_EQ(at_server(), 1);
  std::vector<remote_value<blob>> copied;
  for (auto const& each : put) copied.push_back(to.schedule<blob>("copied", each));
  for (std::size_t i = 0; i < put.size(); ++i)
    EXPECT_TRUE(*store->get(copied[i].fetch()) == *store->get(put[i]));
  EXPECT_EQ(elsewhere(), 4) << "two here and two there";
}

TEST_F(shared_blobs, are_sent_through_the_server_without_shared_memory) {
  start();
  work({"0"});
  cluster_coordinator to({.server = c.grpc()});
  auto const doubled = to.schedule<blob>("doubled", store->put(bytes));
  EXPECT_TRUE(*store->get(doubled.fetch()) == bytes + bytes);
  EXPECT_EQ(at_server(), 2) << "the argument was uploaded when the worker requested it";
}

TEST_F(shared_blobs, outputs_are_uploaded_if_a_restarted_server_needs_them) {
  start({"--data-dir", c.file("data").string()});
  work();
  cluster_coordinator to({.server = c.grpc()});
  auto const doubled = to.schedule<blob>("doubled", store->put(bytes));
  auto const named = doubled.fetch();
  EXPECT_EQ(at_server(), 1) << "before it was announced";
  EXPECT_EQ(elsewhere("outputs"), 0);
  EXPECT_TRUE(*store->get(named) == bytes + bytes);
}

TEST_F(shared_blobs, are_announced_again_to_a_restarted_server) {
  auto& server = c.serve();
  store.emplace(blobs_options{.server = c.grpc()});
  auto const put = store->put(bytes);
  EXPECT_TRUE(await([&] { return elsewhere() == 1; }));
  server.kill_at_once();
  c.serve();
  EXPECT_TRUE(await([&] { return elsewhere() == 1; }));
  blobs without({.server = c.grpc(), .shm_bytes_max = std::size_t{0}});
  EXPECT_TRUE(*without.get({put.sha256}) == bytes);
}

TEST_F(shared_blobs, mappings_outlive_the_killed_process_that_shared_them) {
  start();
  auto& worker = work();
  cluster_coordinator to({.server = c.grpc()});
  auto const doubled = to.schedule<blob>("doubled", store->put(bytes));
  auto const got = store->get(doubled.fetch());
  worker.kill_at_once();
  EXPECT_TRUE(*got == bytes + bytes);
}

}  // namespace
}  // namespace muster::e2e
