#include <future>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class logs : public web_fixture {
 protected:
  void SetUp() override {
    start();
    w = &add_worker(worker::habit::hold);
    job = submit(2, R"(,"on_error":"continue")");
    job_path = "/api/v1/jobs/" + text_at(job, "/id");
    for (int i = 0; i < 2; ++i)
      closure_path[i] =
          "/api/v1/closures/" + text_at(job, "/closures/" + std::to_string(i) + "/id");
  }
  static std::vector<std::string> texts(json::value const& answer) {
    std::vector<std::string> out;
    for (auto const& l : answer.at("lines").as_array()) out.push_back(text_at(l, "/text"));
    return out;
  }
  std::size_t parked() {
    return core_engine().run(
        [](server::hub& h) { return h.state().overview(h.now()).parked_calls; });
  }
  using list = std::vector<std::string>;

  worker* w = nullptr;
  json::value job;
  std::string job_path, closure_path[2];
};

TEST_F(logs, lines_of_a_closure_and_of_its_job_are_returned) {
  w->log("a", 0);
  w->log("b", 1, server::log_level::standard_error);
  w->log("c", 0);
  auto const one = get_json(closure_path[0] + "/logs");
  EXPECT_EQ(texts(one), (list{"a", "c"}));
  EXPECT_EQ(number_at(one, "/after"), 3);
  EXPECT_FALSE(one.at("ended").as_bool());
  EXPECT_EQ(number_at(one, "/dropped"), 0);
  auto const all = get_json(job_path + "/logs");
  EXPECT_EQ(texts(all), (list{"a", "b", "c"}));
  auto const& b = all.at("lines").at(1);
  EXPECT_EQ(json::serialize(b),
            R"({"seq":2,"time_ms":1700000000123,"closure":")" + text_at(job, "/closures/1/id") +
                R"(","index":1,"attempt":1,"worker":"worker:0","level":"stderr","text":"b"})");
}

TEST_F(logs, pages_follow_one_another) {
  for (int i = 0; i < 5; ++i) w->log(std::to_string(i), 0);
  auto const first = get_json(job_path + "/logs?limit=3");
  EXPECT_EQ(texts(first), (list{"0", "1", "2"}));
  auto const rest =
      get_json(job_path + "/logs?after=" + std::to_string(number_at(first, "/after")));
  EXPECT_EQ(texts(rest), (list{"3", "4"}));
  auto const none = get_json(job_path + "/logs?after=" + std::to_string(number_at(rest, "/after")));
  EXPECT_EQ(texts(none), list{});
  EXPECT_EQ(number_at(none, "/after"), 5);
  EXPECT_EQ(texts(get_json(closure_path[0] + "/logs?tail=2")), (list{"3", "4"}));
  EXPECT_EQ(texts(get_json(job_path + "/logs?tail=1")), list{"4"});
}

TEST_F(logs, ended_closure_is_marked_with_its_last_line) {
  for (int i = 0; i < 3; ++i) w->log(std::to_string(i), 0);
  w->finish_all();
  EXPECT_FALSE(get_json(closure_path[0] + "/logs?limit=2").at("ended").as_bool());
  EXPECT_TRUE(get_json(closure_path[0] + "/logs?limit=3").at("ended").as_bool());
  EXPECT_TRUE(get_json(closure_path[1] + "/logs").at("ended").as_bool());
  EXPECT_TRUE(get_json(job_path + "/logs").at("ended").as_bool());
}

TEST_F(logs, a_wait_ends_with_the_next_line_of_the_target) {
  auto waiting = std::async(std::launch::async, [&] {
    http_client client;
    return client.send({.url = url(closure_path[1] + "/logs?wait=30s")})->body;
  });
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  w->log("of another", 0);
  EXPECT_EQ(parked(), 1u);
  w->log("at last", 1);
  EXPECT_EQ(texts(json::parse(waiting.get())), list{"at last"});
  EXPECT_EQ(parked(), 0u);
}

TEST_F(logs, a_wait_ends_with_the_end_of_the_target) {
  std::vector<std::future<std::string>> waiting;
  for (auto const& path : {closure_path[0], job_path})
    waiting.push_back(std::async(std::launch::async, [&, path] {
      http_client client;
      return client.send({.url = url(path + "/logs?wait=30s")})->body;
    }));
  ASSERT_TRUE(eventually([&] { return parked() == 2; }));
  w->finish_all();
  for (auto& answer : waiting) {
    auto const told = json::parse(answer.get());
    EXPECT_TRUE(told.at("ended").as_bool());
    EXPECT_EQ(texts(told), list{});
  }
  EXPECT_EQ(parked(), 0u);
}

TEST_F(logs, wait_ends_at_its_timeout_and_is_dropped) {
  auto const answer = get_json(job_path + "/logs?wait=20ms");
  EXPECT_FALSE(answer.at("ended").as_bool());
  EXPECT_EQ(parked(), 0u);
  w->log("nobody waits", 0);
}

TEST_F(logs, wait_of_a_disconnected_client_is_dropped) {
  raw_socket s(port());
  s.send("GET " + job_path + "/logs?wait=30s HTTP/1.1\r\nHost: " + address() + "\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  s.close();
  EXPECT_TRUE(eventually([&] { return parked() == 0; }));
  w->log("nobody waits", 0);
}

TEST_F(logs, unknown_ids_and_invalid_queries_are_refused) {
  EXPECT_EQ(get("/api/v1/closures/cl_0000000900000009/logs").status, 404u);
  EXPECT_EQ(get("/api/v1/jobs/job_0000000000000099/logs").status, 404u);
  EXPECT_EQ(get("/api/v1/jobs/nonsense/logs").status, 404u);
  for (auto const* query :
       {"?after=x", "?wait=soon", "?limit=0", "?limit=1001", "?tail=0", "?tail=1001", "?unknown=1"})
    EXPECT_EQ(get(job_path + "/logs" + query).status, 400u) << query;
  for (auto const& path : {job_path, closure_path[0]}) {
    auto const both = get_json(path + "/logs?tail=1&after=2", 422);
    EXPECT_EQ(text_at(both, "/field"), "tail");
  }
}

TEST_F(logs, are_deleted_with_their_job) {
  w->log("a", 0);
  w->finish_all();
  EXPECT_EQ(send("DELETE", job_path).status, 204u);
  EXPECT_EQ(get(job_path + "/logs").status, 404u);
  EXPECT_EQ(get(closure_path[0] + "/logs").status, 404u);
}

TEST_F(logs, progress_is_a_field_of_a_closure_and_in_listings) {
  EXPECT_FALSE(get_json(closure_path[0]).as_object().contains("progress"));
  w->progress(0.25, "a quarter", 0);
  auto const one = get_json(closure_path[0]);
  EXPECT_EQ(json::serialize(one.at("progress")),
            R"({"fraction":2.5E-1,"text":"a quarter","attempt":1,"time_ms":1700000000123})");
  auto const all = get_json(job_path + "/closures");
  EXPECT_EQ(text_at(all, "/closures/0/progress/text"), "a quarter");
  EXPECT_FALSE(all.at("closures").at(1).as_object().contains("progress"));
}

TEST_F(logs, results_can_start_at_an_index) {
  w->finish_all();
  auto const body = get(job_path + "/results?from=1").body;
  EXPECT_EQ(std::count(body.begin(), body.end(), '\n'), 1);
  EXPECT_EQ(number_at(json::parse(body), "/index"), 1);
  EXPECT_EQ(get(job_path + "/results?from=2").body, "");
  EXPECT_EQ(get(job_path + "/results?from=99999999999").status, 400u);
}

class full_logs : public web_fixture {};

TEST_F(full_logs, wait_beyond_the_limit_is_refused_and_dropped) {
  core::config none;
  none.parked_calls_max = 0;
  start({}, none);
  auto& w = add_worker(worker::habit::hold);
  auto const path = "/api/v1/jobs/" + text_at(submit(1), "/id") + "/logs";
  EXPECT_EQ(get(path + "?wait=1s").status, 429u);
  w.log("nobody waits");
  EXPECT_EQ(get(path + "?wait=1s").status, 200u);
}

}  // namespace
}  // namespace muster::web::test
