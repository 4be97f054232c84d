#include "muster/blobs.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/http_client/http_client.hpp"
#include "client/blobs/content_cache.hpp"
#include "muster/cluster_coordinator.hpp"
#include "muster/worker.hpp"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

/// Provides the functions "length" (of a blob) and "doubled" (returns a blob) in this process.
class worker_here {
 public:
  explicit worker_here(std::string const& server)
      : store_({.server = server}), worker_({.servers = {server}, .slots = 4}) {
    worker_.function("length", [this](blob const& b) { return store_.get(b)->size(); });
    worker_.function("doubled", [this](blob const& b) {
      auto const bytes = store_.get(b);
      return store_.put(std::string(*bytes).append(*bytes));
    });
    thread_ = std::thread([this] { worker_.run(); });
  }
  ~worker_here() {
    worker_.stop();
    thread_.join();
  }

 private:
  blobs store_;
  worker worker_;
  std::thread thread_;
};

std::int64_t there(cluster& c) {
  return c.get("/api/v1/blobs").at("blobs").to_number<std::int64_t>();
}

TEST(cpp_blobs, are_arguments_and_outputs) {
  cluster c;
  c.serve();
  worker_here w(c.grpc());
  blobs store({.server = c.grpc()});
  cluster_coordinator to({.server = c.grpc()});
  auto const bytes = std::string((3 << 20) + 1, 'x');
  auto const put = store.put(bytes);
  EXPECT_EQ(put.bytes, bytes.size());
  EXPECT_EQ(store.put(bytes), put) << "the same content is the same blob";
  EXPECT_EQ(there(c), 0) << "the blob stays in memory until a reader cannot take it there";
  EXPECT_EQ(to.schedule<std::uint64_t>("length", put).fetch(), bytes.size());
  auto const doubled = to.schedule<blob>("doubled", put);
  auto const again = to.schedule<std::uint64_t>("length", doubled);
  EXPECT_EQ(again.fetch(), 2 * bytes.size()) << "an output can be an argument";
  EXPECT_TRUE(*store.get(doubled.fetch()) == bytes + bytes);
  auto const name = R"({"$blob":")" + put.sha256 + "\"}";
  auto const f = c.run({"submit", "length", name, "--timeout", "20s"});
  EXPECT_EQ(f.out, "3145729\n") << f.err;
}

TEST(cpp_blobs, can_be_empty_and_used_by_many_threads) {
  cluster c;
  c.serve();
  blobs store({.server = c.grpc()});
  EXPECT_EQ(*blobs({.server = c.grpc()}).get({store.put("").sha256}), "");
  auto const kept = store.put("many");
  blobs other({.server = c.grpc()});
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { right += *other.get({kept.sha256}) == "many" ? 1 : 0; });
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, 8);
}

TEST(cpp_blobs, are_uploaded_again_when_the_server_has_lost_them) {
  cluster c;
  auto& first = c.serve();
  blobs store({.server = c.grpc()});
  auto const put = store.put("precious");
  first.kill_at_once();
  c.serve();
  EXPECT_EQ(*blobs({.server = c.grpc()}).get({put.sha256}), "precious")
      << "whoever wants it waits for whoever has it";
}

TEST(cpp_blobs, errors_report_why_a_blob_is_unavailable) {
  blobs nowhere({.server = "127.0.0.1:1", .patience = std::chrono::milliseconds(300)});
  try {
    nowhere.put("x");
    FAIL();
  } catch (blob_error const& e) {
    EXPECT_EQ(e.kind(), failure_kind::dependency_lost);
    EXPECT_NE(std::string(e.what()).find("cannot be uploaded"), std::string::npos) << e.what();
  }
  EXPECT_THROW(nowhere.get({"abc"}), blob_error);
  cluster c;
  c.serve({"--blob-bytes-max", "1000"});
  blobs store({.server = c.grpc(), .patience = std::chrono::milliseconds(300)});
  EXPECT_THROW(store.put(std::string(2000, 'x')), blob_error);
  EXPECT_THROW(json::value_to<blob>(json::parse(R"({"$blob":"abc"})")), std::invalid_argument);
}

TEST(content_cache, least_recently_used_contents_are_evicted_beyond_the_limit) {
  detail::content_cache cache(10);
  auto const of = [](std::size_t n) {
    auto const bytes = std::make_shared<std::string const>(n, 'x');
    return blob_bytes(bytes, *bytes);
  };
  cache.add("a", of(4));
  cache.add("b", of(4));
  EXPECT_TRUE(cache.find("a"));
  cache.add("c", of(4));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_TRUE(cache.find("a"));
  EXPECT_EQ(cache.bytes(), 8u);
  cache.add("large", of(11));
  EXPECT_FALSE(cache.find("large"));
  EXPECT_EQ(cache.bytes(), 8u);
  cache.erase("a");
  cache.erase("a");
  EXPECT_EQ(cache.bytes(), 4u);
}

}  // namespace
}  // namespace muster::e2e
