#include <gtest/gtest.h>
#include <signal.h>

#include "tests/e2e/cluster.hpp"
#include "tests/support/http_service.hpp"

namespace muster::e2e {
namespace {

test::http_reply not_leading(test::http_seen const&) {
  return {503, R"({"code":"UNAVAILABLE","leader":"127.0.0.1:1"})"};
}

TEST(several_urls, serving_server_is_found) {
  test::http_service standby(not_leading);
  cluster c;
  c.serve();
  auto const urls = "http://127.0.0.1:1," + standby.url() + "/," + c.url();
  EXPECT_EQ(c.run({"kv", "put", "k", "v", "--url", urls}).status, 0);
  auto const got = c.run({"kv", "get", "k", "--url", urls});
  EXPECT_EQ(got.out, "v") << got.err;
  EXPECT_EQ(c.run({"jobs"}, {}, {{"MUSTER_URL", urls}}).status, 0);
}

TEST(several_urls, command_waits_for_a_failover) {
  cluster a, b;
  auto const data = a.file("data").string();
  auto& first = a.serve({"--data-dir", data});
  EXPECT_EQ(a.run({"kv", "put", "k", "v"}).status, 0);
  auto& other = b.serve();
  other.kill_at_once();
  first.kill_at_once();
  auto& asking = a.program({MUSTER_BINARY, "kv", "get", "k", "--url", a.url() + "," + b.url()});
  b.serve({"--data-dir", data});
  EXPECT_EQ(asking.wait(), 0) << asking.errors();
  EXPECT_EQ(asking.output(), "v");
}

TEST(several_urls, all_servers_are_named_if_none_serves) {
  test::http_service standby(not_leading);
  cluster c;
  auto const f = c.run({"kv", "get", "k", "--url", "http://127.0.0.1:1," + standby.url()});
  EXPECT_EQ(f.status, 3);
  EXPECT_CONTAINS(f.err, "no server is ready: cannot reach http://127.0.0.1:1");
  EXPECT_CONTAINS(f.err, standby.url() + ": HTTP status 503");
  auto const wrong = c.run({"kv", "get", "k", "--url", "http://127.0.0.1:1,ftp://x"});
  EXPECT_EQ(wrong.status, 2) << wrong.err;
}

TEST(several_urls, request_that_changes_something_is_not_repeated) {
  std::atomic<int> posts = 0;
  test::http_service breaks([&](test::http_seen const& seen) {
    if (seen.method == "GET") return test::http_reply{};
    ++posts;
    return test::http_reply{.sent = test::http_reply::way::hang_up};
  });
  cluster c;
  c.serve();
  auto const f =
      c.run({"clusters", "create", "x", "worker=1", "--url", breaks.url() + "," + c.url()});
  EXPECT_EQ(f.status, 3) << f.err;
  EXPECT_EQ(posts, 1);
  EXPECT_EQ(c.status_of("/api/v1/clusters/x"), 404u);
}

TEST(several_urls, server_that_stops_serving_is_replaced) {
  std::atomic<bool> serves = true;
  test::http_service was([&](test::http_seen const& seen) {
    if (seen.target == "/readyz" && serves.exchange(false)) return test::http_reply{};
    return not_leading(seen);
  });
  cluster c;
  c.serve();
  auto const f = c.run({"clusters", "create", "x", "worker=1", "--url", was.url() + "," + c.url()});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(c.status_of("/api/v1/clusters/x"), 200u);
}

}  // namespace
}  // namespace muster::e2e
