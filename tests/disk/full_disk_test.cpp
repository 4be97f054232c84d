#include <gtest/gtest.h>

#include <thread>

#include "tests/e2e/cluster.hpp"
#include "tests/support/cannot_run.hpp"
#include "tests/support/small_disk.hpp"

namespace muster::e2e {
namespace {

muster::http_response post(std::string const& url, std::string const& body) {
  muster::http_client client;
  muster::http_request r;
  r.method = "POST";
  r.url = url;
  r.body = body;
  auto const answer = client.send(r);
  EXPECT_TRUE(answer) << answer.error().message;
  return answer ? *answer : muster::http_response{};
}

TEST(full_disk, refuses_durable_work_until_space_is_free) {
  test::small_disk disk(60);  // less than the reserve
  if (!disk.problem().empty()) return test::cannot_run(disk.problem());
  auto const data = (disk.path() / "data").string();
  cluster c;
  auto& server = c.serve({"--data-dir", data});
  auto const job = R"({"closures":[{"function":"muster.echo","args":[1]}]})";
  auto const refused = post(c.url() + "/api/v1/jobs", job);
  EXPECT_EQ(refused.status, 507u) << refused.body;
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_CONTAINS(refused.body, "RESOURCE_EXHAUSTED");
  EXPECT_CONTAINS(refused.body, "no space left in " + data + ": ");
  EXPECT_CONTAINS(refused.body, " MiB are free");
  auto const put = c.run({"kv", "put", "k", "v"});
  EXPECT_EQ(put.status, 1);
  EXPECT_CONTAINS(put.err, "no space left in " + data);
  auto const not_kept =
      post(c.url() + "/api/v1/jobs", R"({"durable":false,)" + std::string(job + 1));
  EXPECT_EQ(not_kept.status, 201u) << not_kept.body;
  auto const openapi = c.get("/openapi.json").at("paths").at("/api/v1/jobs").at("post");
  EXPECT_TRUE(openapi.at("responses").as_object().contains("507"));
  auto const submitted = c.run({"submit", "muster.echo", "1"});
  EXPECT_EQ(submitted.status, 1);
  EXPECT_CONTAINS(submitted.err, "--no-durable");
  EXPECT_EQ(c.status_of("/readyz"), 200u);
  ASSERT_TRUE(disk.resize(300));
  EXPECT_TRUE(await([&] { return c.run({"kv", "put", "k", "v"}).status == 0; })) << server.errors();
  EXPECT_EQ(post(c.url() + "/api/v1/jobs", job).status, 201u);
  EXPECT_TRUE(server.says("journal_disk_has_room"));
}

std::vector<std::string> alerts(cluster& c) {
  std::vector<std::string> rules;
  auto const page = c.get("/api/v1/attention");
  for (auto const& a : page.at("items").as_array()) rules.emplace_back(a.at("rule").as_string());
  return rules;
}

// Other programs fill the disk to the last byte while the server runs.
TEST(full_disk, is_reported_everywhere_and_reads_continue) {
  test::small_disk disk(300);
  if (!disk.problem().empty()) return test::cannot_run(disk.problem());
  auto const data = (disk.path() / "data").string();
  cluster c;
  auto& server = c.serve({"--data-dir", data});
  c.worker({"--slots", "2"});
  EXPECT_EQ(c.run({"kv", "put", "k", "v"}).status, 0);
  EXPECT_EQ(c.run({"submit", "muster.echo", "1"}).out, "1\n");
  EXPECT_EQ(c.text("/readyz"), "ok\n");
  auto const running =
      c.post("/api/v1/jobs", R"({"closures":[{"function":"muster.sleep","args":[4]}]})")
          .at("id")
          .as_string();
  disk.fill();
  EXPECT_TRUE(await([&] { return alerts(c) == std::vector<std::string>{"disk-full"}; }));
  EXPECT_CONTAINS(c.text("/readyz"), "ok\ndisk-full: no space left in " + data);
  EXPECT_CONTAINS("\n" + c.text("/metrics"), "\nmuster_journal_disk_full 1\n");
  auto const durable = c.get("/api/v1/overview").at("durable");
  EXPECT_CONTAINS(std::string(durable.at("full").as_string()), data);
  EXPECT_EQ(durable.at("free_bytes").as_int64(), 0);
  auto const doctor = c.run({"doctor"});
  EXPECT_EQ(doctor.status, 1);
  EXPECT_CONTAINS(doctor.out, "no space left in " + data);
  auto const blob = "/api/v1/blobs/" +
                    std::string("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
  auto const put_blob = [&] {
    muster::http_request r;
    r.method = "PUT";
    r.url = c.url() + blob;
    r.body = "x";
    return muster::http_client().send(r).value();
  };
  // The history is written every second. RocksDB retries every five seconds.
  auto const job = R"({"closures":[{"function":"muster.echo","args":[1]}]})";
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(c.run({"kv", "get", "k"}).out, "v");
    EXPECT_CONTAINS(c.run({"kv", "put", "k2", "v"}).err, "no space left in " + data);
    EXPECT_EQ(post(c.url() + "/api/v1/jobs", job).status, 507u);
    auto const refused = put_blob();
    EXPECT_EQ(refused.status, 507u) << refused.body;
    EXPECT_CONTAINS(refused.body, "no space left in " + data);
    EXPECT_CONTAINS(refused.body, " MiB are free");
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  EXPECT_EQ(c.run({"submit", "muster.echo", "1", "--no-durable"}).out, "1\n");
  disk.free();
  EXPECT_TRUE(await([&] { return alerts(c).empty(); })) << server.errors();
  EXPECT_EQ(c.text("/readyz"), "ok\n");
  EXPECT_EQ(c.run({"kv", "put", "k2", "v"}).status, 0);
  EXPECT_EQ(put_blob().status, 201u);
  auto const ended = c.get("/api/v1/jobs/" + std::string(running) + "/join?timeout=20s");
  EXPECT_EQ(ended.at("state"), "SUCCEEDED") << "its end was written when space was free";
  server.kill_at_once();
  c.serve({"--data-dir", data});
  EXPECT_EQ(c.run({"kv", "get", "k2"}).out, "v");
}

void expect_told(process& server, std::string const& data) {
  EXPECT_EQ(server.wait(), 2);
  auto const told = server.errors();
  EXPECT_CONTAINS(told, "no space left in " + data + ": its disk is full");
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

TEST(full_disk, is_reported_at_the_start_and_nothing_is_lost) {
  test::small_disk disk(200);
  if (!disk.problem().empty()) return test::cannot_run(disk.problem());
  auto const data = (disk.path() / "data").string();
  cluster c;
  auto& server = c.serve({"--data-dir", data});
  for (auto const* key : {"a", "b", "c"}) EXPECT_EQ(c.run({"kv", "put", key, "v"}).status, 0);
  server.kill_at_once();
  auto const before = std::distance(std::filesystem::directory_iterator(data), {});
  disk.fill();
  words const flags{"serve",       "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
                    "--log-level", "warn",   "--data-dir",  data};
  expect_told(c.spawn(flags), data);
  auto supervised = flags;
  supervised.emplace_back("--supervise");
  expect_told(c.spawn(supervised), data);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(data), {}), before);
  disk.free();
  c.serve({"--data-dir", data});
  for (auto const* key : {"a", "b", "c"}) EXPECT_EQ(c.run({"kv", "get", key}).out, "v") << key;
}

TEST(full_disk, refuses_values_and_blobs_until_space_is_free) {
  test::small_disk disk(16);
  if (!disk.problem().empty()) return test::cannot_run(disk.problem());
  auto const values = (disk.path() / "values").string();
  cluster c;
  auto& server = c.serve({"--spill-dir", values, "--spill-above", "1kb"});
  c.worker({"--slots", "2"});
  disk.fill();
  // 2,000,000 times 'b', too many bytes for memory.
  muster::http_request put;
  put.method = "PUT";
  put.url =
      c.url() + "/api/v1/blobs/5b48d4be723fdf466901528c75ff5c27000f7f8f3795fabb526d59e79a6267fc";
  put.body = std::string(2'000'000, 'b');
  auto const refused = muster::http_client().send(put);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->status, 507u) << refused->body;
  EXPECT_CONTAINS(refused->body, "no space left in " + values);

  auto const value = "\"" + std::string(4'000, 'x') + "\"";
  EXPECT_EQ(c.run({"submit", "muster.echo", "[" + value + "]", "--timeout", "60s"}).status, 0);
  EXPECT_TRUE(await([&] {
    return server.errors().find("values cannot be written to --spill-dir " + values +
                                ": No space left on device") != std::string::npos;
  })) << server.errors();
  EXPECT_CONTAINS("\n" + c.text("/metrics"), "\nmuster_values_spilled 0\n");

  disk.free();
  auto const put_again = muster::http_client().send(put);
  ASSERT_TRUE(put_again) << put_again.error().message;
  EXPECT_EQ(put_again->status, 201u) << put_again->body;
  // The refused write is retried with the next step, ten seconds later.
  EXPECT_TRUE(await(
      [&] {
        return ("\n" + c.text("/metrics")).find("\nmuster_values_spilled 1\n") != std::string::npos;
      },
      std::chrono::seconds(60)));
}

}  // namespace
}  // namespace muster::e2e
