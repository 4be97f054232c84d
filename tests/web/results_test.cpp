#include <fstream>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class results : public web_fixture {
 protected:
  void SetUp() override {
    web_options options;
    options.send_buffer_bytes = 64 * 1024;  // makes a slow reader take effect early
    start(options);
  }
  std::string path_of(json::value const& job, std::string const& query = {}) {
    return "/api/v1/jobs/" + text_at(job, "/id") + "/results" + query;
  }
  std::vector<json::value> lines(std::string const& path) {
    std::vector<json::value> all;
    http_request r;
    r.url = url(path);
    auto const answer = client_.stream(r, [&](std::string_view line) {
      all.push_back(json::parse(line));
      return true;
    });
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return all;
  }
};

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST_F(results, are_in_schedule_order_in_every_state) {
  add_worker(worker::habit::hold, -1, 1);
  auto const job = submit(3);
  auto const all = lines(path_of(job));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(number_at(all[2], "/index"), 2);
  EXPECT_EQ(text_at(all[0], "/closure"), text_at(job, "/closures/0/id"));
  EXPECT_FALSE(all[0].as_object().contains("value"));
}

TEST_F(results, hold_values_and_errors) {
  auto& w = add_worker(worker::habit::hold, -1, 8);
  auto const good = submit(2);
  w.finish_all("{\"a\":\n1}");
  auto const all = lines(path_of(good));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(text_at(all[0], "/state"), "SUCCEEDED");
  EXPECT_EQ(all[0].at("value"), (json::value{{"a", 1}}));

  auto const bytes = submit(1);
  w.finish_all(std::string("\0\xff", 2), core::encoding::bytes);
  EXPECT_EQ(lines(path_of(bytes))[0].at("value"), (json::value{{"$bytes", "AP8="}}));

  auto const lying = submit(1);
  w.finish_all("{not json", core::encoding::json);
  EXPECT_TRUE(lines(path_of(lying))[0].at("value").as_object().contains("$bytes"));

  auto const bad = submit(1);
  w.fail_all("broken");
  EXPECT_EQ(text_at(lines(path_of(bad))[0], "/error/message"), "broken");
}

TEST_F(results, an_empty_job_has_no_lines) {
  EXPECT_TRUE(lines(path_of(submit(0))).empty());
  EXPECT_TRUE(lines(path_of(submit(0), "?wait=true")).empty());
}

TEST_F(results, can_be_followed_until_the_job_ends) {
  auto const job = submit(5'000);
  std::thread later([&] {
    EXPECT_TRUE(eventually([&] {
      return core_engine().run(
                 [](server::hub& h) { return h.state().overview(h.now()).parked_calls; }) == 1;
    }));
    add_worker(worker::habit::echo);
  });
  auto const all = lines(path_of(job, "?wait=true"));
  later.join();
  ASSERT_EQ(all.size(), 5'000u);
  for (std::int64_t i = 0; i < 5'000; ++i) {
    ASSERT_EQ(all[static_cast<std::size_t>(i)].at("index"), i);
    ASSERT_EQ(all[static_cast<std::size_t>(i)].at("value"), (json::value{i}));
  }
}

TEST_F(results, results_of_an_open_job_are_followed_as_it_grows) {
  add_worker(worker::habit::echo);
  auto const job = submit(3, R"(,"open":true)");
  auto const base = "/api/v1/jobs/" + text_at(job, "/id");
  std::vector<std::int64_t> seen;
  http_request r;
  r.url = url(base + "/results?wait=true");
  http_client other;
  auto const answer = client_.stream(r, [&](std::string_view line) {
    seen.push_back(number_at(json::parse(line), "/index"));
    http_request more;
    more.method = "POST";
    more.url = url(base + (seen.size() == 3 ? "/closures" : "/seal"));
    if (seen.size() == 3) more.body = R"([{"function":"muster.echo"}])";
    if (seen.size() < 3) return true;
    EXPECT_TRUE(other.send(more)->ok());
    return true;
  });
  EXPECT_TRUE(answer);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST_F(results, slow_reader_uses_no_extra_memory_and_gets_all_results) {
  std::string const value = "\"" + std::string(1'000, 'v') + "\"";
  auto& w = add_worker(worker::habit::hold, -1, 64);
  auto const job = submit(100'000);
  auto const done = [&] { return number_at(get_json("/api/v1/overview"), "/closures/succeeded"); };
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (done() < 100'000) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the worker was lost";
    w.finish_all(value);
  }

  raw_socket slow(port(), {.receive_buffer = 32 * 1024});
  slow.send("GET " + path_of(job) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  std::string all = slow.receive(1000);
  auto const before = resident_bytes();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(get("/api/v1/overview").status, 200u);
  EXPECT_LT(resident_bytes(), before + (16u << 20));
  std::size_t bytes = all.size();
  std::string last;
  for (auto more = slow.receive(); !more.empty(); more = slow.receive()) {
    bytes += more.size();
    last = more;
  }
  EXPECT_GT(bytes, 100'000'000u);
  EXPECT_TRUE(last.ends_with("0\r\n\r\n"));
}

TEST_F(results, disconnected_follower_is_dropped) {
  auto const job = submit(1);
  auto const parked = [&] {
    return core_engine().run(
        [](server::hub& h) { return h.state().overview(h.now()).parked_calls; });
  };
  {
    raw_socket s(port());
    s.send("GET " + path_of(job, "?wait=true") + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(eventually([&] { return parked() == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return parked() == 0; }));
}

TEST_F(results, stream_cut_by_a_stop_is_visibly_incomplete) {
  auto const job = submit(1);
  raw_socket s(port());
  s.send("GET " + path_of(job, "?wait=true") + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(s.receive_until("\r\n\r\n").find("200 OK"), std::string::npos);
  engine_->stop();
  EXPECT_FALSE(s.receive_all().ends_with("0\r\n\r\n"));
}

}  // namespace
}  // namespace muster::web::test
