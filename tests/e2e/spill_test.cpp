#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "muster/v1/coordinator.grpc.pb.h"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int values = 200;

/// A job of `values` closures with results of about 1 KiB, and their RemoteValues.
struct spilled {
  explicit spilled(words const& flags) {
    words all = {"--spill-dir", c.file("values"), "--spill-above", "20kb"};
    all.insert(all.end(), flags.begin(), flags.end());
    server = &c.serve(all);
    c.worker({"--slots", "2"});
    std::string text;
    for (int i = 0; i < values; ++i) text += "[\"" + content(i) + "\"]\n";
    auto const done =
        c.run({"submit", "muster.echo", "--map", c.write("input", text), "--no-wait"});
    job = done.out.substr(0, done.out.find('\n'));
    EXPECT_TRUE(c.await_count(job, "succeeded", values)) << done.err;
  }
  static std::string content(int i) { return std::to_string(i) + std::string(1'000, 'x'); }
  std::string closure(std::size_t i) {
    auto const page = c.get("/api/v1/jobs/" + job + "/closures?limit=2");
    return json::value_to<std::string>(page.at("closures").at(i).at("id"));
  }
  static std::string value_of(std::string const& closure) { return "rv_" + closure.substr(3); }
  double metric(std::string const& name) {
    auto const text = "\n" + c.text("/metrics");
    auto const at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  }
  bool metric_reaches(std::string const& name, double n) {
    return await([&] { return metric(name) >= n; }, 60s);
  }
  std::size_t files() const {
    std::size_t n = 0;
    for (auto const& e : fs::directory_iterator(c.file("values")))
      n += e.path().filename() != "muster-values-lock";
    return n;
  }

  cluster c;
  process* server = nullptr;
  std::string job;
};

TEST(spill, spilled_values_are_fetched_like_any_other) {
  spilled s({});
  ASSERT_TRUE(s.metric_reaches("muster_values_spilled", values - 25));
  EXPECT_GT(s.metric("muster_values_spilled_bytes"), (values - 25) * 1'000);
  EXPECT_GT(s.files(), 0u);
  auto const first = s.closure(0);
  auto const seen = s.c.get("/api/v1/closures/" + first);
  EXPECT_TRUE(seen.at("value_spilled").as_bool());
  EXPECT_EQ(seen.at("value_bytes").to_number<int>(), 1'003);

  // Reads by REST, by gRPC, in the results of its job, and as an input.
  auto const expected = "\"" + spilled::content(0) + "\"";
  EXPECT_EQ(s.c.text("/api/v1/remote_values/" + spilled::value_of(first) + "/value"), expected);

  auto const stub = v1::CoordinatorService::NewStub(
      grpc::CreateChannel(s.c.grpc(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::FetchRequest request;
  request.set_closure(std::stoull(first.substr(3), nullptr, 16));
  v1::FetchResponse fetched;
  auto const status = stub->Fetch(&context, request, &fetched);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(fetched.value(), expected);

  auto const all = s.c.run({"fetch", s.job, "--timeout", "60s"});
  EXPECT_EQ(all.status, 0) << all.err;
  std::string lines;
  for (int i = 0; i < values; ++i) lines += "\"" + spilled::content(i) + "\"\n";
  EXPECT_TRUE(all.out == lines) << all.out.substr(0, 200);

  auto const echoed = s.c.run({"submit", "muster.echo",
                               "{\"$remote_value\":\"" + spilled::value_of(s.closure(1)) + "\"}",
                               "--timeout", "60s"});
  EXPECT_EQ(echoed.status, 0) << echoed.err;
  EXPECT_NE(echoed.out.find(spilled::content(1)), std::string::npos);
  EXPECT_GT(s.metric("muster_value_loads_total"), values - 25);

  // The files are removed with the values, and with the server.
  muster::http_client client;
  muster::http_request gone;
  gone.method = "DELETE";
  gone.url = s.c.url() + "/api/v1/jobs/" + s.job;
  EXPECT_TRUE(client.send(gone));
  EXPECT_TRUE(await([&] { return s.files() <= 1; }, 60s)) << "of the job that echoed";
  muster::http_request fetch;
  fetch.url = s.c.url() + "/api/v1/remote_values/" + spilled::value_of(first) + "/value";
  auto const missing = client.send(fetch);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 404u);
  EXPECT_NE(missing->body.find("its job was deleted"), std::string::npos) << missing->body;
  s.server->signal(SIGTERM);
  EXPECT_EQ(s.server->wait(), 0);
  EXPECT_EQ(s.files(), 0u);
}

TEST(spill, values_beyond_the_spill_limit_are_dropped_and_recomputed) {
  spilled s({"--spill-bytes-max", "50kb"});
  ASSERT_TRUE(s.metric_reaches("muster_values_dropped_total{reason=\"spill_bytes\"}", 50));
  EXPECT_LE(s.metric("muster_values_spilled_bytes"), 51'200);
  auto const first = s.closure(0);
  auto const released = [&] {
    auto const seen = s.c.get("/api/v1/closures/" + first).as_object();
    return seen.contains("value_released") ? json::value_to<std::string>(seen.at("value_released"))
                                           : std::string();
  };
  EXPECT_TRUE(await([&] { return !released().empty(); }, 60s));
  EXPECT_NE(released().find("--spill-bytes-max (51200 bytes)"), std::string::npos) << released();
  auto const explained = s.c.run({"explain", first});
  EXPECT_NE(explained.out.find("was released"), std::string::npos) << explained.out;
  auto const echoed =
      s.c.run({"submit", "muster.echo", "{\"$remote_value\":\"" + spilled::value_of(first) + "\"}",
               "--timeout", "60s"});
  EXPECT_EQ(echoed.status, 0) << echoed.err;
  EXPECT_NE(echoed.out.find(spilled::content(0)), std::string::npos);
  auto const again = s.c.run({"explain", first});
  EXPECT_NE(again.out.find("but its value was lost; it runs again"), std::string::npos)
      << again.out;
}

TEST(spill, files_of_a_killed_server_are_removed_at_the_next_start) {
  spilled s({});
  ASSERT_TRUE(s.metric_reaches("muster_values_spilled", values - 25));
  // The SHA-256 of 2,000,000 times 'b', too many bytes for memory.
  std::string const sha256 = "5b48d4be723fdf466901528c75ff5c27000f7f8f3795fabb526d59e79a6267fc";
  muster::http_request put;
  put.method = "PUT";
  put.url = s.c.url() + "/api/v1/blobs/" + sha256;
  put.body = std::string(2'000'000, 'b');
  auto const answer = muster::http_client().send(put);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(answer->status, 201u) << answer->body;
  auto const blobs = s.c.file("values") / "blobs";
  s.c.write("values/blobs/papers", "of somebody else");
  s.server->signal(SIGKILL);
  s.server->wait();
  EXPECT_GT(s.files(), 1u);
  EXPECT_TRUE(fs::exists(blobs / sha256));
  auto& next = s.c.serve({"--spill-dir", s.c.file("values")});
  EXPECT_EQ(s.files(), 1u) << "the folder of blobs";
  EXPECT_FALSE(fs::exists(blobs / sha256));
  next.signal(SIGTERM);
  EXPECT_EQ(next.wait(), 0);
  EXPECT_TRUE(fs::exists(blobs / "papers"));
}

TEST(spill, a_directory_in_use_is_refused_and_leftovers_are_removed) {
  cluster c;
  fs::create_directories(c.file("values"));
  c.write("values/muster-values-3", "of a server that was killed");
  c.serve({"--spill-dir", c.file("values")});
  EXPECT_FALSE(fs::exists(c.file("values") / "muster-values-3"));
  cluster other;
  auto const refused = other.run(
      {"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--spill-dir", c.file("values")});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("another server stores its values there"), std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace muster::e2e
