#include "tests/web/agents.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class key_values : public web_fixture {
 protected:
  void SetUp() override { start({}, {}, 2); }
  http_response put(std::string const& key, std::string const& value,
                    std::string const& none = {}) {
    http_request r;
    r.method = "PUT";
    r.url = url(path + "/" + key);
    r.body = value;
    r.content_type = "application/octet-stream";
    if (!none.empty()) r.headers.emplace_back("If-None-Match", none);
    return send(r);
  }
  std::string const path = "/api/v1/clusters/default/kv";
};

TEST_F(key_values, stored_value_is_returned) {
  auto const r = put("a/b", "hello");
  EXPECT_EQ(r.status, 201u);
  EXPECT_EQ(r.body, "{\"key\":\"a/b\",\"size\":5,\"created\":true}\n");
  auto const got = get(path + "/a/b");
  EXPECT_EQ(got.status, 200u);
  EXPECT_EQ(got.body, "hello");
  EXPECT_EQ(got.header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(put("a/b", "again").status, 200u);
  EXPECT_EQ(get(path + "/a%2Fb/").body, "again");
}

TEST_F(key_values, values_can_be_any_bytes) {
  std::string const bytes("\x00\xff\x80", 3);
  put("bin", bytes);
  auto const got = get(path + "/bin");
  EXPECT_EQ(got.body, bytes);
  EXPECT_EQ(got.header("Content-Type"), "application/octet-stream");
  put("empty", "");
  EXPECT_EQ(get(path + "/empty").status, 200u);
  auto const list = get_json(path);
  EXPECT_EQ(text_at(list, "/keys/0/value_base64"), "AP+A");
  EXPECT_EQ(number_at(list, "/keys/0/size"), 3);
  EXPECT_EQ(text_at(list, "/keys/1/value"), "");
}

TEST_F(key_values, insert_only_keeps_an_existing_value) {
  EXPECT_EQ(put("k", "1", "*").status, 201u);
  auto const r = put("k", "2", "*");
  EXPECT_EQ(r.status, 412u);
  EXPECT_NE(r.body.find("ALREADY_EXISTS"), std::string::npos);
  EXPECT_EQ(get(path + "/k").body, "1");
  EXPECT_EQ(put("k", "3", "\"etag\"").status, 400u);
}

TEST_F(key_values, cannot_be_written_once_the_run_has_failed) {
  agents a(core_engine());
  a.join(2);
  put("k", "1");
  a.report(1, "out of memory");
  for (auto const& r : {put("k", "2"), put("new", "1"), send("DELETE", path + "/k")}) {
    EXPECT_EQ(r.status, 409u) << r.body;
    EXPECT_NE(r.body.find("FAILED_PRECONDITION"), std::string::npos);
    EXPECT_NE(r.body.find("run 1 of cluster 'default' has failed"), std::string::npos) << r.body;
    EXPECT_NE(r.body.find("out of memory"), std::string::npos) << r.body;
  }
  EXPECT_EQ(get(path + "/k").body, "1") << "a written value can be read";
}

TEST_F(key_values, are_listed_by_prefix_in_pages) {
  for (auto const* key : {"a/1", "a/2", "a/3", "b"}) put(key, "v");
  auto const first = get_json(path + "?prefix=/a/&limit=2&include_values=false");
  ASSERT_EQ(first.at("keys").as_array().size(), 2u);
  EXPECT_EQ(text_at(first, "/keys/0/key"), "a/1");
  EXPECT_FALSE(first.at("keys").at(0).as_object().contains("value"));
  EXPECT_GT(number_at(first, "/keys/0/changed_ms"), 0);
  auto const rest =
      get_json(path + "?prefix=a/&limit=2&page_token=" + text_at(first, "/next_page_token"));
  ASSERT_EQ(rest.at("keys").as_array().size(), 1u);
  EXPECT_EQ(text_at(rest, "/keys/0/value"), "v");
  EXPECT_FALSE(rest.as_object().contains("next_page_token"));
  EXPECT_EQ(get(path + "?include_values=maybe").status, 400u);
  EXPECT_EQ(get(path + "?page_token=zz").status, 400u);
  EXPECT_EQ(get(path + "?delimiter=.").status, 400u);
  EXPECT_EQ(get("/api/v1/clusters/nope/kv").status, 404u);
}

TEST_F(key_values, are_listed_like_folders_with_a_delimiter) {
  for (auto const* key : {"a", "a/1", "a/b/2", "a/b/3", "a/c/4", "d/5"}) put(key, "v");
  auto const top = get_json(path + "?delimiter=/");
  EXPECT_EQ(json::serialize(top.at("folders")), R"(["a/","d/"])");
  ASSERT_EQ(top.at("keys").as_array().size(), 1u);
  EXPECT_EQ(text_at(top, "/keys/0/key"), "a");
  auto const below = get_json(path + "?delimiter=/&prefix=a/&limit=2");
  EXPECT_EQ(json::serialize(below.at("folders")), R"(["a/b/"])");
  EXPECT_EQ(text_at(below, "/keys/0/key"), "a/1");
  auto const rest = get_json(
      path + "?delimiter=/&prefix=a/&limit=2&page_token=" + text_at(below, "/next_page_token"));
  EXPECT_EQ(json::serialize(rest.at("folders")), R"(["a/c/"])");
  EXPECT_FALSE(rest.as_object().contains("next_page_token"));
}

TEST_F(key_values, a_page_of_large_values_ends_early) {
  std::string const large(3 << 20, 'x');
  for (auto const* key : {"a", "b", "c"}) put(key, large);
  EXPECT_EQ(get_json(path).at("keys").as_array().size(), 2u);
  EXPECT_EQ(get_json(path + "?include_values=false").at("keys").as_array().size(), 3u);
}

TEST_F(key_values, delete_removes_keys_below_only_if_recursive) {
  for (auto const* key : {"a", "a/1", "a/2", "b"}) put(key, "v");
  auto const refused = send("DELETE", path + "/a");
  EXPECT_EQ(refused.status, 409u);
  EXPECT_NE(refused.body.find("recursive=true"), std::string::npos);
  EXPECT_EQ(send("DELETE", path + "/a/1").status, 204u);
  EXPECT_EQ(send("DELETE", path + "/a?recursive=true").status, 204u);
  EXPECT_EQ(get_json(path).at("keys").as_array().size(), 1u);
  EXPECT_EQ(send("DELETE", path + "/a?recursive=true").status, 404u);
  EXPECT_EQ(send("DELETE", path + "/a").status, 404u);
  EXPECT_EQ(send("DELETE", path + "/b?recursive=x").status, 400u);
}

TEST_F(key_values, missing_key_can_be_waited_for) {
  auto const missing = get_json(path + "/k", 404);
  EXPECT_EQ(text_at(missing, "/code"), "NOT_FOUND");
  auto const start = std::chrono::steady_clock::now();
  EXPECT_EQ(get(path + "/k?timeout=100ms").status, 504u);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  EXPECT_EQ(get(path + "/k?timeout=0").status, 404u);
  EXPECT_EQ(get(path + "/k?timeout=soon").status, 400u);

  std::thread later([&] {
    EXPECT_TRUE(eventually([&] {
      return core_engine().run([](engine_services& services) {
        auto const c = services.endpoints.main();
        return services.coordination.state().current(c).views().key_waits("", 1).size() == 1;
      });
    }));
    http_client other;
    http_request r;
    r.method = "PUT";
    r.url = url(path + "/k");
    r.body = "came";
    EXPECT_TRUE(other.send(r));
  });
  EXPECT_EQ(get(path + "/k?timeout=10s").body, "came");
  later.join();
}

TEST_F(key_values, wait_of_a_disconnected_client_is_dropped) {
  auto const waits = [&] {
    return core_engine().run([](engine_services& services) {
      return services.coordination.state().current(services.endpoints.main()).parked_calls();
    });
  };
  raw_socket s(port());
  s.send("GET " + path + "/k?timeout=30s HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return waits() == 1; }));
  s.close();
  EXPECT_TRUE(eventually([&] { return waits() == 0; }));
}

TEST_F(key_values, waits_are_listed_by_key_and_by_task) {
  agents a(core_engine());
  a.join(2);
  for (auto const* key : {"x", "y"}) a.wait_for_key(1, key);
  a.wait_for_key(0, "x");
  auto const waits = get_json("/api/v1/clusters/default/kv_waits");
  ASSERT_EQ(waits.at("keys").as_array().size(), 2u);
  EXPECT_EQ(text_at(waits, "/keys/0/key"), "x");
  EXPECT_EQ(number_at(waits, "/keys/0/count"), 2);
  EXPECT_GE(number_at(waits, "/keys/0/waiters/0/waiting_ms"), 0);
  ASSERT_EQ(waits.at("tasks").as_array().size(), 2u);
  EXPECT_EQ(text_at(waits, "/tasks/1/task"), "/job:worker/task:1");
  EXPECT_EQ(json::serialize(waits.at("tasks").at(1).at("keys")), R"(["x","y"])");
  EXPECT_FALSE(waits.at("more").as_bool());
  auto const first = get_json("/api/v1/clusters/default/kv_waits?limit=1");
  EXPECT_TRUE(first.at("more").as_bool());
  EXPECT_EQ(first.at("keys").as_array().size(), 1u);
  EXPECT_EQ(get_json("/api/v1/clusters/default/kv_waits?prefix=y").at("keys").as_array().size(),
            1u);
  EXPECT_EQ(get("/api/v1/clusters/nope/kv_waits").status, 404u);
}

TEST_F(key_values, keys_have_limits) {
  EXPECT_EQ(put("%2F", "v").status, 400u);
  EXPECT_EQ(send("DELETE", path + "/%2F").status, 400u);
  EXPECT_EQ(get(path + "/%2F").status, 400u);
  EXPECT_EQ(put("%00", "v").status, 404u);
  for (auto const* method : {"GET", "DELETE", "PUT"})
    EXPECT_EQ(send(method, "/api/v1/clusters/nope/kv/k").status, 404u) << method;
  EXPECT_EQ(send("PATCH", path + "/k").status, 405u);
}

class events : public web_fixture {};

TEST_F(events, are_numbered_and_the_oldest_are_dropped) {
  start();
  auto const none = get_json("/api/v1/events");
  EXPECT_EQ(number_at(none, "/first"), 1);
  EXPECT_EQ(number_at(none, "/last"), 0);
  add_worker(worker::habit::hold, 3).lose("tripped");
  auto const two = get_json("/api/v1/events?after=0");
  ASSERT_EQ(two.at("events").as_array().size(), 2u);
  EXPECT_EQ(text_at(two, "/events/0/kind"), "worker_attached");
  EXPECT_EQ(text_at(two, "/events/0/subject"), "worker:3");
  EXPECT_EQ(text_at(two, "/events/1/kind"), "worker_lost");
  EXPECT_EQ(text_at(two, "/events/1/severity"), "WARNING");
  EXPECT_EQ(text_at(two, "/events/1/text"), "tripped");
  EXPECT_GT(number_at(two, "/events/1/time_ms"), 0);
  for (int i = 0; i < 10; ++i) add_worker(worker::habit::hold, i).lose("gone");
  auto const late = get_json("/api/v1/events?after=2&limit=5");
  EXPECT_EQ(number_at(late, "/first"), 7);  // the test's log keeps 16
  EXPECT_EQ(number_at(late, "/last"), 22);
  EXPECT_EQ(number_at(late, "/events/0/number"), 7);
  EXPECT_EQ(late.at("events").as_array().size(), 5u);
  auto const newest = get_json("/api/v1/events?limit=3");
  EXPECT_EQ(number_at(newest, "/events/0/number"), 20);
  EXPECT_TRUE(get_json("/api/v1/events?after=22").at("events").as_array().empty());
  EXPECT_EQ(get("/api/v1/events?after=x").status, 400u);
}

TEST_F(events, failed_job_causes_an_event_and_a_successful_one_does_not) {
  start();
  auto& w = add_worker(worker::habit::hold, 3);
  auto const good = submit(1);
  ASSERT_TRUE(eventually([&] { return w.holds() == 1; }));
  w.finish_all("1");
  auto const bad = submit(1);
  ASSERT_TRUE(eventually([&] { return w.holds() == 1; }));
  w.fail_all("no such column");
  get_json("/api/v1/jobs/" + text_at(bad, "/id") + "/join?timeout=10s");
  auto const all = get_json("/api/v1/events?severity=ERROR");
  ASSERT_EQ(all.at("events").as_array().size(), 1u) << json::serialize(all);
  EXPECT_EQ(text_at(all, "/events/0/kind"), "job_failed");
  EXPECT_EQ(text_at(all, "/events/0/subject"), text_at(bad, "/id"));
  EXPECT_NE(text_at(all, "/events/0/text").find("no such column"), std::string::npos);
  EXPECT_TRUE(
      get_json("/api/v1/events?subject=" + text_at(good, "/id")).at("events").as_array().empty());
  EXPECT_EQ(get_json("/api/v1/events?kind=job_failed").at("events"), all.at("events"));
  EXPECT_TRUE(get_json("/api/v1/events?kind=server_started").at("events").as_array().empty());
}

TEST_F(events, events_of_agents_name_their_cluster) {
  start({}, {}, 1);
  agents a(core_engine());
  a.join(1);
  a.report(0, "bad");
  auto const all = get_json("/api/v1/events?after=0");
  bool told = false;
  for (auto const& e : all.at("events").as_array())
    told |= text_at(e, "/cluster") == "default" && text_at(e, "/severity") == "ERROR";
  EXPECT_TRUE(told) << json::serialize(all);
}

}  // namespace
}  // namespace muster::web::test
