#include <algorithm>
#include <atomic>
#include <thread>

#include "server/hub/id_parsing.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace listings_cases {

class listings : public web_fixture {
 protected:
  void SetUp() override { start(); }

  std::vector<std::int64_t> indexes(std::string const& path) {
    std::vector<std::int64_t> out;
    auto const page = get_json(path);
    for (auto const& c : page.at("closures").as_array()) out.push_back(number_at(c, "/index"));
    return out;
  }
  std::vector<std::int64_t> all_indexes(std::string const& path, std::string const& list) {
    std::vector<std::int64_t> out;
    std::string token;
    do {
      auto const page = get_json(path + (path.find('?') == std::string::npos ? "?" : "&") +
                                 "page_token=" + token);
      for (auto const& c : page.at(list).as_array()) out.push_back(number_at(c, "/index"));
      auto const* next = page.as_object().if_contains("next_page_token");
      token = next ? std::string(next->as_string()) : std::string();
    } while (!token.empty() && out.size() < 10'000);
    return out;
  }
  std::string open_session() {
    return core::text(core_engine().run([](server::hub& h) {
      core::open_session e;
      e.spec.delivery = core::delivery::stream;
      e.spec.on_error = core::on_error::continue_all;
      return std::get<core::session_reply>(h.ask_now(std::move(e)).body).session;
    }));
  }
  void schedule(std::string const& session, std::size_t n) {
    auto const id = *server::parse_job(session);
    core_engine().run([id, n](server::hub& h) {
      auto const f = h.learn({"muster.echo"}).ids.at(0);
      core::schedule e;
      e.session = id;
      for (std::size_t i = 0; i < n; ++i) e.closures.push_back({f, 0, i + 1, core::blob("1")});
      h.apply(std::move(e));
      return 0;
    });
  }
};
using list = std::vector<std::int64_t>;

TEST_F(listings, closures_are_filtered_by_outcome) {
  auto& w = add_worker(worker::habit::hold, 3, 1);
  auto const job = submit(3, R"(,"on_error":"continue")");
  auto const path = "/api/v1/jobs/" + text_at(job, "/id") + "/closures";
  w.fail_all("Disk full");
  EXPECT_EQ(indexes(path + "?state=ended_badly"), list{0});
  EXPECT_EQ(indexes(path + "?state=UNFINISHED"), (list{1, 2}));
  EXPECT_EQ(indexes(path + "?q=disk%20FULL"), list{0});
  EXPECT_EQ(indexes(path + "?q=" + text_at(job, "/closures/2/id")), list{2});
  EXPECT_EQ(indexes(path + "?worker=worker:3&state=FAILED"), list{0});
  EXPECT_EQ(indexes(path + "?worker=worker:4"), list{});
  auto const all = get_json(path);
  EXPECT_EQ(number_at(all, "/of"), 3);
  EXPECT_EQ(number_at(all, "/looked_at"), 3);
}

TEST_F(listings, closures_are_sorted_and_paged_to_the_end) {
  auto& w = add_worker(worker::habit::hold, 0, 1);
  auto const job = submit(25);
  for (int i = 0; i < 10; ++i) w.finish_all();
  auto const path = "/api/v1/jobs/" + text_at(job, "/id") + "/closures?limit=4";
  list up, down;
  for (int i = 0; i < 25; ++i) up.push_back(i), down.push_back(24 - i);
  EXPECT_EQ(all_indexes(path, "closures"), up);
  EXPECT_EQ(all_indexes(path + "&sort=index&order=desc", "closures"), down);
  for (auto const* sort : {"started", "duration"})
    for (auto const* order : {"asc", "desc"}) {
      auto found = all_indexes(path + "&sort=" + sort + "&order=" + order, "closures");
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, up) << sort << " " << order;
    }
}

TEST_F(listings, invalid_query_is_refused) {
  auto const job = "/api/v1/jobs/" + text_at(submit(3), "/id") + "/closures";
  for (auto const* query : {"?state=LOST", "?sort=name", "?order=up", "?limit=0", "?limit=1001",
                            "?page_token=x", "?page_token=c1"})
    EXPECT_EQ(get(job + query).status, 400u) << query;
  for (auto const* query : {"?page_token=c12", "?sort=duration&page_token=c0000000000000001"})
    EXPECT_EQ(get(job + query).status, 422u) << query;
  auto const page = get_json(job + "?sort=started&limit=1");
  auto const token = text_at(page, "/next_page_token");
  auto const other = get(job + "?sort=duration&page_token=" + token);
  EXPECT_EQ(other.status, 422u);
  EXPECT_EQ(text_at(json::parse(other.body), "/field"), "page_token");
  EXPECT_EQ(get("/api/v1/jobs/job_00000000000000ff/closures").status, 404u);
  EXPECT_EQ(get("/api/v1/jobs/job_x/closures").status, 404u);
  EXPECT_EQ(get("/api/v1/remote_values?page_token=v12").status, 422u);
  EXPECT_EQ(get("/api/v1/remote_values?status=NEW").status, 400u);
  EXPECT_EQ(get("/api/v1/remote_values?place=tape").status, 400u);
  EXPECT_EQ(get("/api/v1/remote_values?job=7").status, 400u);
  EXPECT_EQ(get("/api/v1/remote_values?job=job_00000000000000ff").status, 404u);
  EXPECT_EQ(get("/api/v1/remote_values?cluster=none").status, 404u);
  EXPECT_EQ(get("/api/v1/remote_values/holders?cluster=none").status, 404u);
  EXPECT_EQ(get("/api/v1/remote_values/holders?limit=0").status, 400u);
  EXPECT_EQ(get("/api/v1/remote_values/rv_00000000000000ff/preview").status, 404u);
  EXPECT_EQ(get("/api/v1/remote_values/rv_0/preview?bytes=0").status, 400u);
  EXPECT_EQ(get("/api/v1/jobs/job_00000000000000ff/graph").status, 404u);
  EXPECT_EQ(get("/api/v1/jobs/x/graph").status, 404u);
  EXPECT_EQ(get("/api/v1/clusters/default/tasks/worker/9/closures").status, 404u);
  EXPECT_EQ(get("/api/v1/clusters/default/tasks/worker/x/closures").status, 404u);
  EXPECT_EQ(get("/api/v1/clusters/none/tasks/worker/0/closures").status, 404u);
}

TEST_F(listings, session_lists_current_and_ended_closures) {
  auto& w = add_worker(worker::habit::hold, 0, 1);
  auto const session = open_session();
  schedule(session, 1);
  auto const path = "/api/v1/jobs/" + session + "/closures";
  EXPECT_EQ(indexes(path), list{0});
  w.finish_all();
  schedule(session, 1);
  w.fail_all("broken");
  schedule(session, 1);
  EXPECT_EQ(indexes(path), (list{0, 1, 2}));
  EXPECT_EQ(indexes(path + "?state=UNFINISHED"), list{2});
  auto const failed = get_json(path + "?state=FAILED").at("closures").at(0);
  EXPECT_TRUE(failed.at("history").as_bool());
  EXPECT_EQ(text_at(failed, "/error/message"), "broken");
  EXPECT_EQ(text_at(failed, "/attempts/0/worker"), "worker:0");
  auto const one = "/api/v1/closures/" + text_at(failed, "/id");
  EXPECT_EQ(get(one).status, 404u);
  EXPECT_EQ(get(one + "?job=job_1").status, 400u);
  EXPECT_EQ(text_at(get_json(one + "?job=" + session), "/state"), "FAILED");
  EXPECT_EQ(get(one + "/explain").status, 404u);
  auto const why = get_json(one + "/explain?job=" + session);
  EXPECT_EQ(text_at(why, "/state"), "FAILED");
  EXPECT_NE(text_at(why, "/explanation").find("broken"), std::string::npos);
  EXPECT_EQ(get(one + "/explain?job=job_1").status, 400u);
}

TEST_F(listings, dependents_are_listed) {
  auto const job = post_json("/api/v1/jobs",
                             R"({"closures":[{"function":"a"},
                             {"function":"b","args":[{"$remote_value":"#0"}]}]})",
                             201);
  auto const v = get_json("/api/v1/closures/" + text_at(job, "/closures/0/id"));
  EXPECT_EQ(v.at("dependents"), (json::value{text_at(job, "/closures/1/remote_value")}));
}

TEST_F(listings, values_are_listed_with_location_and_size) {
  auto& w = add_worker(worker::habit::hold, 0, 1);
  auto const job = post_json("/api/v1/jobs",
                             R"({"closures":[{"function":"muster.echo"},{"function":"muster.echo"},
                             {"function":"nobody's"}]})",
                             201);
  w.finish_all("12345");
  w.finish_all("1");
  auto const all = get_json("/api/v1/remote_values?limit=2&order=desc");
  ASSERT_EQ(all.at("remote_values").as_array().size(), 2u);
  auto const first = all.at("remote_values").at(1);
  EXPECT_EQ(text_at(first, "/id"), text_at(job, "/closures/0/remote_value"));
  EXPECT_EQ(text_at(first, "/closure"), text_at(job, "/closures/0/id"));
  EXPECT_EQ(text_at(first, "/job"), text_at(job, "/id"));
  EXPECT_EQ(text_at(first, "/place"), "memory");
  EXPECT_EQ(number_at(first, "/bytes"), 5);
  EXPECT_EQ(text_at(first, "/status"), "READY");
  EXPECT_EQ(all_indexes("/api/v1/remote_values?limit=2", "remote_values"), (list{1, 0, 2}));
  auto const of_job = "/api/v1/remote_values?limit=1&job=" + text_at(job, "/id");
  EXPECT_EQ(all_indexes(of_job + "&sort=size&place=memory", "remote_values"), (list{1, 0}));
  EXPECT_EQ(all_indexes(of_job + "&sort=age&order=desc&status=READY", "remote_values"),
            (list{0, 1}));
  EXPECT_EQ(all_indexes(of_job + "&place=none", "remote_values"), list{2});
  auto const view = get_json("/api/v1/jobs/" + text_at(job, "/id"));
  EXPECT_EQ(number_at(view, "/values"), 2);
  EXPECT_EQ(number_at(view, "/value_bytes"), 6);
  auto const holders = get_json("/api/v1/remote_values/holders");
  EXPECT_EQ(text_at(holders, "/holders/0/job"), text_at(job, "/id"));
  EXPECT_EQ(number_at(holders, "/holders/0/values"), 2);
  EXPECT_EQ(number_at(holders, "/holders/0/value_bytes"), 6);
}

TEST_F(listings, value_that_is_a_blob_has_the_size_of_the_blob) {
  auto& w = add_worker(worker::habit::hold, 0, 1);
  auto const submit = [&] {
    return post_json("/api/v1/jobs", R"({"closures":[{"function":"muster.echo"}]})", 201);
  };
  auto const job = submit();
  w.finish_all(R"({"$blob":")" + std::string(64, 'a') + R"(","bytes":12000009})");
  auto const other = submit();
  w.finish_all(std::string(900, '7'));
  auto const largest = get_json("/api/v1/remote_values?sort=size&order=desc&limit=1");
  EXPECT_EQ(text_at(largest, "/remote_values/0/job"), text_at(job, "/id"));
  EXPECT_EQ(number_at(largest, "/remote_values/0/bytes"), 12'000'009);
  auto const id = text_at(job, "/closures/0/remote_value");
  EXPECT_EQ(number_at(get_json("/api/v1/remote_values/" + id), "/size"), 12'000'009);
  auto const preview = get_json("/api/v1/remote_values/" + id + "/preview");
  EXPECT_EQ(number_at(preview, "/bytes"), 12'000'009);
  EXPECT_FALSE(preview.at("truncated").as_bool()) << "only the name can be shown";
  auto const closure = get_json("/api/v1/closures/" + text_at(job, "/closures/0/id"));
  EXPECT_EQ(number_at(closure, "/value_bytes"), 12'000'009);
  auto const holders = get_json("/api/v1/remote_values/holders");
  EXPECT_EQ(text_at(holders, "/holders/0/job"), text_at(job, "/id"));
  EXPECT_EQ(number_at(holders, "/holders/0/blob_bytes"), 12'000'009);
  EXPECT_LT(number_at(holders, "/holders/0/value_bytes"), 100) << "its name";
  EXPECT_EQ(number_at(holders, "/holders/1/blob_bytes"), 0);
  EXPECT_EQ(text_at(holders, "/holders/1/job"), text_at(other, "/id"));
  auto const job_bytes = [&](json::value const& j) {
    return number_at(get_json("/api/v1/jobs/" + text_at(j, "/id")), "/value_bytes");
  };
  EXPECT_GT(job_bytes(job), 12'000'009);
  EXPECT_EQ(number_at(get_json("/api/v1/overview"), "/remote_values/held_bytes"),
            job_bytes(job) + job_bytes(other))
      << "the overview sums up what the jobs show";
  send("DELETE", "/api/v1/jobs/" + text_at(job, "/id"));
  EXPECT_EQ(number_at(get_json("/api/v1/overview"), "/remote_values/held_bytes"), job_bytes(other));
}

TEST_F(listings, failed_values_are_marked_and_can_be_filtered) {
  add_worker(worker::habit::fail);
  auto const failed = text_at(submit(1), "/id");
  get_json("/api/v1/jobs/" + failed + "/join?timeout=10s");
  workers_.clear();
  add_worker(worker::habit::echo);
  auto const good = text_at(submit(2), "/id");
  get_json("/api/v1/jobs/" + good + "/join?timeout=10s");
  auto const values = [this](std::string const& query) {
    return get_json("/api/v1/remote_values?status=READY" + query).at("remote_values").as_array();
  };
  EXPECT_EQ(values("").size(), 3u);
  ASSERT_EQ(values("&error=true").size(), 1u);
  EXPECT_EQ(text_at(values("&error=true")[0], "/job"), failed);
  EXPECT_TRUE(values("&error=true")[0].at("error").as_bool());
  ASSERT_EQ(values("&error=false").size(), 2u);
  EXPECT_FALSE(values("&error=false")[0].at("error").as_bool());
  EXPECT_EQ(number_at(get_json("/api/v1/overview"), "/remote_values/errors"), 1);
}

TEST_F(listings, values_are_filtered_by_worker_text_and_time) {
  auto& w = add_worker(worker::habit::hold, 0, 1);
  submit(1);
  ASSERT_TRUE(eventually([&] { return w.holds() == 1; }));
  w.wait();
  w.fail_all("division by zero\nat row 7");
  auto const values = [this](std::string const& query) {
    return get_json("/api/v1/remote_values?" + query).at("remote_values").as_array();
  };
  ASSERT_TRUE(eventually([&] { return values("error=true").size() == 1; }));
  auto const failed = values("error=true")[0];
  EXPECT_EQ(text_at(failed, "/worker"), "worker:0");
  EXPECT_EQ(text_at(failed, "/error_line"), "division by zero");
  EXPECT_EQ(values("worker=worker:1").size(), 0u);
  EXPECT_EQ(values("worker=worker:0&error=true").size(), 1u);
  ASSERT_EQ(values("q=Division%20BY").size(), 1u);
  EXPECT_EQ(values("q=Division%20BY")[0].at("id"), failed.at("id"));
  auto const ended = static_cast<std::int64_t>(number_at(failed, "/finished_ms"));
  auto const range = [](std::int64_t from, std::int64_t to) {
    return "error=true&from_ms=" + std::to_string(from) + "&to_ms=" + std::to_string(to);
  };
  EXPECT_EQ(values(range(ended, ended)).size(), 1u) << "the range includes its last millisecond";
  EXPECT_EQ(values(range(ended + 1, ended + 9'000)).size(), 0u);
  EXPECT_EQ(values(range(0, ended - 1)).size(), 0u);
}

struct silent_holder final : server::holder_sink {
  void on_upload_requested(std::string_view) override {}
  bool on_ticket(std::string_view, std::string_view) override { return true; }
  void on_released(std::string_view) override {}
};

TEST_F(listings, large_value_is_listed_at_the_worker_that_holds_it) {
  auto& w = add_worker(worker::habit::hold, 0, 1);
  auto const job = post_json("/api/v1/jobs", R"({"closures":[{"function":"muster.echo"}]})", 201);
  w.finish_all(R"({"$blob":")" + std::string(64, 'a') +
               R"-(","bytes":12000009,"text":"ndarray(3 int8)"})-");
  auto const at = "/api/v1/remote_values/" + text_at(job, "/closures/0/remote_value") + "/preview";
  auto const before = get_json(at);
  EXPECT_FALSE(before.at("at_server").as_bool());
  EXPECT_FALSE(before.as_object().contains("holder"));
  EXPECT_EQ(text_at(before, "/description"), "ndarray(3 int8)");
  EXPECT_EQ(number_at(before, "/bytes"), 12'000'009);
  silent_holder sink;
  auto const name = std::string(32, '\xaa');
  auto const id = core_engine().run([&](engine_services& services) {
    auto& holders = services.blobs.holders();
    auto const made = holders.open(sink, {"socket", "worker:0"});
    holders.table().hold(made, name, 12'000'009, services.blobs.now());
    return made;
  });
  EXPECT_EQ(text_at(get_json(at), "/holder"), "worker:0");
  silent_holder another;
  auto const copy = core_engine().run([&](engine_services& services) {
    auto& holders = services.blobs.holders();
    auto const made = holders.open(another, {"socket", "worker:1"});
    EXPECT_TRUE(holders.table().copy(made, name, 12'000'009, services.blobs.now()));
    return made;
  });
  auto const preview = get_json(at);
  EXPECT_EQ(text_at(preview, "/holder"), "worker:0");
  EXPECT_EQ(preview.at("holders"), json::parse(R"(["worker:0","worker:1"])"));
  auto const blobs = get_json("/api/v1/blobs");
  EXPECT_EQ(number_at(blobs, "/elsewhere/copies"), 1);
  EXPECT_EQ(number_at(blobs, "/elsewhere/copy_bytes"), 12'000'009);
  EXPECT_NE(get("/metrics").body.find("\nmuster_value_copy_bytes 12000009\n"), std::string::npos);
  EXPECT_EQ(number_at(blobs, "/elsewhere/outputs"), 1);
  EXPECT_EQ(text_at(blobs, "/elsewhere/workers/0/task"), "worker:0");
  EXPECT_EQ(number_at(blobs, "/elsewhere/workers/0/bytes"), 12'000'009);
  EXPECT_EQ(number_at(blobs, "/taken_bytes/shared"), 0);
  EXPECT_NE(get("/metrics").body.find("\nmuster_values_elsewhere_bytes 12000009\n"),
            std::string::npos);
  auto& third = add_worker(worker::habit::hold, 2, 1);
  w.lose("gone");
  auto const needs =
      post_json("/api/v1/jobs",
                R"({"closures":[{"function":"muster.echo","args":[{"$remote_value":")" +
                    text_at(job, "/closures/0/remote_value") + R"("}]}]})",
                201);
  ASSERT_TRUE(eventually([&] { return third.holds() == 1; }));
  third.wait();
  auto const why = "/api/v1/closures/" + text_at(needs, "/closures/0/id") + "/explain";
  auto const waits = get_json(why);
  EXPECT_EQ(text_at(waits, "/reason"), "INPUT_ELSEWHERE");
  EXPECT_EQ(text_at(waits, "/input/remote_value"), text_at(job, "/closures/0/remote_value"));
  EXPECT_EQ(number_at(waits, "/input/bytes"), 12'000'009);
  EXPECT_EQ(waits.at("input").at("holders"), preview.at("holders"));
  auto const of = *server::parse_closure(text_at(job, "/closures/0/id"));
  core_engine().run([&](engine_services& services) {
    for (auto const by : {id, copy}) services.blobs.holders().close(by, services.blobs.now());
    services.pools.main().apply(
        core::values_moved{{{core::move_kind::lost, of, false, {}, "its worker is gone"}}});
    return true;
  });
  post_json("/api/v1/jobs",
            R"({"closures":[{"function":"muster.echo","args":[{"$remote_value":")" +
                text_at(job, "/closures/0/remote_value") + R"("}]}]})",
            201);
  auto const again = get_json(why);
  EXPECT_EQ(text_at(again, "/reason"), "INPUT_MADE_AGAIN");
  EXPECT_EQ(text_at(again, "/input/made_again_by").substr(0, 3), "cl_");
  EXPECT_GE(number_at(again, "/input/made_again_for_ms"), 0);
  EXPECT_EQ(again.at("input").at("holders"), json::parse(R"(["worker:0"])"));
}

TEST_F(listings, a_preview_is_the_beginning_of_a_value) {
  auto& w = add_worker(worker::habit::hold, 0, 1);
  auto const next = [&] { return text_at(submit(1), "/closures/0/remote_value"); };
  auto const preview = [&](std::string const& id, std::string const& bytes = "4096") {
    return get_json("/api/v1/remote_values/" + id + "/preview?bytes=" + bytes);
  };
  auto const first = next();
  EXPECT_EQ(text_at(preview(first), "/place"), "none");
  w.finish_all("\"a\xc3\xa4\xc3\xa4\"");
  auto const json = preview(first, "3");
  EXPECT_EQ(text_at(json, "/text"), "\"a") << "no half characters";
  EXPECT_EQ(text_at(json, "/encoding"), "json");
  EXPECT_TRUE(json.at("truncated").as_bool());
  EXPECT_EQ(number_at(json, "/bytes"), 7);
  auto const second = next();
  w.finish_all(std::string("\0\xff", 2), core::encoding::bytes);
  auto const raw = preview(second);
  EXPECT_EQ(text_at(raw, "/text"), "00ff");
  EXPECT_FALSE(raw.at("truncated").as_bool());
  auto const third = next();
  w.fail_all("broken");
  EXPECT_EQ(text_at(preview(third), "/error/message"), "broken");
}

TEST_F(listings, worker_lists_its_running_closures) {
  add_worker(worker::habit::hold, 3, 1);
  auto const job = submit(2);
  auto const hands = get_json("/api/v1/clusters/default/tasks/worker/3/closures");
  EXPECT_EQ(text_at(hands, "/running/0/id"), text_at(job, "/closures/0/id"));
  EXPECT_EQ(text_at(hands, "/running/0/job"), text_at(job, "/id"));
  EXPECT_EQ(text_at(hands, "/running/0/function"), "muster.echo");
  EXPECT_EQ(number_at(hands, "/more"), 0);
}

TEST_F(listings, graph_shows_few_closures_singly_and_many_by_function) {
  auto const job = post_json("/api/v1/jobs",
                             R"({"closures":[{"function":"a"},
                             {"function":"b","args":[{"$remote_value":"#0"}]}]})",
                             201);
  auto const g = get_json("/api/v1/jobs/" + text_at(job, "/id") + "/graph");
  EXPECT_FALSE(g.at("grouped").as_bool());
  EXPECT_EQ(g.at("edges"), json::parse("[[0,1]]"));
  EXPECT_EQ(text_at(g, "/nodes/closure/1"), text_at(job, "/closures/1/id"));
  EXPECT_EQ(text_at(g, "/functions/1"), "b");
  EXPECT_EQ(text_at(g, "/states/" + std::to_string(number_at(g, "/nodes/state/1"))), "BLOCKED");
  auto const many = get_json("/api/v1/jobs/" + text_at(submit(2'001), "/id") + "/graph");
  EXPECT_TRUE(many.at("grouped").as_bool());
  EXPECT_EQ(number_at(many, "/groups/0/counts/total"), 2'001);
  for (auto const* all : {&g, &many}) {
    EXPECT_TRUE(all->at("complete").as_bool());
    EXPECT_EQ(number_at(*all, "/looked_at"), number_at(*all, "/of"));
  }
}

/// A busy engine: each step waits for `each` first.
class brake {
 public:
  brake(engine& e, std::chrono::milliseconds each) { hold(e, each, on_); }
  ~brake() { *on_ = false; }
  brake(brake const&) = delete;

 private:
  using flag = std::shared_ptr<std::atomic<bool>>;
  static void hold(engine& e, std::chrono::milliseconds each, flag const& on) {
    e.post(std::function<void(engine_services&)>([&e, each, on](engine_services&) {
      if (!*on) return;
      std::this_thread::sleep_for(each);
      // A post from the engine's own thread would overtake waiting requests.
      std::jthread([&] { hold(e, each, on); });
    }));
  }
  flag const on_ = std::make_shared<std::atomic<bool>>(true);
};

TEST_F(listings, unfinished_graph_shows_its_progress) {
  auto const path = "/api/v1/jobs/" + text_at(submit(30'000), "/id") + "/graph";
  {
    brake const held(core_engine(), std::chrono::milliseconds(130));  // of 250 ms
    auto const g = get_json(path);
    EXPECT_FALSE(g.at("complete").as_bool());
    EXPECT_EQ(number_at(g, "/of"), 30'000);
    EXPECT_GT(number_at(g, "/looked_at"), 0);
    EXPECT_LT(number_at(g, "/looked_at"), 30'000);
    EXPECT_EQ(number_at(g, "/groups/0/counts/total"), number_at(g, "/looked_at"));
  }
  {
    brake const held(core_engine(), std::chrono::milliseconds(400));
    auto const g = get_json(path);
    EXPECT_FALSE(g.at("complete").as_bool());
    EXPECT_EQ(number_at(g, "/of"), 30'000);
  }
  // The engine may still be held, and the host may be busy.
  bool complete = false;
  for (int i = 0; i < 100 && !complete; ++i) complete = get_json(path).at("complete").as_bool();
  EXPECT_TRUE(complete);
}

}  // namespace listings_cases
}  // namespace muster::web::test
