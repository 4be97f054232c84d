#include "tests/web/fixture.hpp"
#include "tests/web/socket.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

struct scope : web_fixture {
  // Two clusters with a job each, whose function has no worker.
  void SetUp() override {
    web_options quick;
    quick.websocket_tick = 20ms;
    start_guarded(quick);
    ASSERT_EQ(send_as(admin_, "POST", "/api/v1/clusters", R"({"name":"train"})").status, 201u);
    main_ = make_token(core::role::viewer, {"default"});
    train_ = make_token(core::role::viewer, {"train"});
    main_job_ = submit_to("default", "of_main");
    train_job_ = submit_to("train", "of_train");
  }
  std::string submit_to(std::string const& cluster, std::string const& function) {
    auto const r = send_as(
        admin_, "POST", "/api/v1/jobs",
        "{\"cluster\":\"" + cluster + R"(","closures":[{"function":")" + function + "\"}]}");
    EXPECT_EQ(r.status, 201u) << r.body;
    return text_at(json::parse(r.body), "/id");
  }
  std::string body(std::string const& token, std::string const& path) {
    auto const r = send_as(token, "GET", path);
    EXPECT_EQ(r.status, 200u) << path << " " << r.body;
    return r.body;
  }
  std::unique_ptr<socket> open(std::string const& token) {
    socket::options o;
    o.token = token;
    return std::make_unique<socket>(port(), o);
  }

  std::string main_, train_, main_job_, train_job_;
};

TEST_F(scope, totals_and_listings_cover_only_the_clusters_of_the_token) {
  auto const queued = [&](std::string const& token) {
    return number_at(json::parse(body(token, "/api/v1/overview")), "/closures/queued");
  };
  EXPECT_EQ(queued(admin_), 2);
  EXPECT_EQ(queued(main_), 1);
  EXPECT_EQ(queued(train_), 1);
  EXPECT_TRUE(contains(body(main_, "/api/v1/overview"), "of_main"));
  EXPECT_FALSE(contains(body(main_, "/api/v1/overview"), "of_train"));
  EXPECT_TRUE(contains(body(train_, "/api/v1/overview"), "of_train"));
  EXPECT_FALSE(contains(body(train_, "/api/v1/overview"), "of_main"));
  EXPECT_FALSE(contains(body(main_, "/api/v1/clusters"), "train"));
  EXPECT_FALSE(contains(body(train_, "/api/v1/clusters"), "default"));
  EXPECT_TRUE(contains(body(train_, "/api/v1/clusters"), "train"));
  EXPECT_EQ(send_as(main_, "GET", "/api/v1/overview?cluster=train").status, 403u);
  EXPECT_EQ(send_as(main_, "GET", "/api/v1/attention?cluster=train").status, 403u);
}

TEST_F(scope, alerts_of_other_clusters_are_hidden) {
  add_worker(worker::habit::fail);
  auto const job = submit_to("default", "muster.fail");
  EXPECT_EQ(send_as(main_, "GET", "/api/v1/jobs/" + job + "/join").status, 200u);
  EXPECT_TRUE(contains(body(main_, "/api/v1/attention"), job));
  EXPECT_TRUE(contains(body(admin_, "/api/v1/attention"), job));
  EXPECT_FALSE(contains(body(train_, "/api/v1/attention"), job));
}

TEST_F(scope, events_of_other_clusters_and_of_the_server_are_hidden) {
  auto const tell = [this](std::string kind, std::string cluster, std::string text) {
    server::log_event n;
    n.kind = std::move(kind);
    n.cluster = std::move(cluster);
    n.text = std::move(text);
    core_engine().tell(std::move(n));
  };
  tell("job_failed", {}, "of main");
  tell("audit", {}, "of the server");
  tell("task_registered", "train", "of train");
  auto const seen = [&](std::string const& token) { return body(token, "/api/v1/events"); };
  EXPECT_TRUE(contains(seen(main_), "of main"));
  EXPECT_FALSE(contains(seen(main_), "of train"));
  EXPECT_FALSE(contains(seen(main_), "of the server"));
  EXPECT_TRUE(contains(seen(train_), "of train"));
  EXPECT_FALSE(contains(seen(train_), "of main"));
  for (auto const* part : {"of main", "of train", "of the server"})
    EXPECT_TRUE(contains(seen(admin_), part)) << part;
}

// The program runs on `train`. Its own cluster is named like its id.
TEST_F(scope, coordination_cluster_of_a_program_is_visible_with_its_cluster) {
  auto const exec = make_token(core::role::submitter, {"train"}, true);
  auto const r = send_as(exec, "POST", "/api/v1/programs",
                         R"({"cluster":"train","command":["true"],"tasks":{"worker":1}})");
  ASSERT_EQ(r.status, 201u) << r.body;
  auto const own = text_at(json::parse(r.body), "/id");
  auto const stray = std::string("prog_00000000000000ff");
  core_engine().run([&](engine_services& services) {
    for (auto const& name : {own, stray})
      EXPECT_TRUE(services.coordination.create({.name = name, .jobs = {{"worker", 1}}}));
  });
  server::log_event n;
  n.kind = "task_error";
  n.cluster = own;
  n.text = "of the program";
  core_engine().tell(std::move(n));
  for (auto const& [token, is_its] :
       {std::pair(exec, true), std::pair(train_, true), std::pair(main_, false)}) {
    EXPECT_EQ(contains(body(token, "/api/v1/clusters"), own), is_its);
    EXPECT_EQ(contains(body(token, "/api/v1/events"), "of the program"), is_its);
    for (std::string const part : {"", "/barriers", "/kv"})
      EXPECT_EQ(send_as(token, "GET", "/api/v1/clusters/" + own + part).status,
                is_its ? 200u : 403u)
          << part;
    EXPECT_EQ(send_as(token, "GET", "/api/v1/clusters/" + stray).status, 403u)
        << "there is no such program";
  }
}

TEST_F(scope, a_filter_by_a_job_of_another_cluster_is_refused) {
  for (std::string const path : {"/api/v1/stream", "/api/v1/remote_values", "/api/v1/stream/trace"})
    for (std::string const more : {"", "&cluster=default"}) {
      EXPECT_EQ(send_as(main_, "GET", path + "?job=" + train_job_ + more).status, 403u) << path;
      EXPECT_EQ(send_as(main_, "GET", path + "?job=" + main_job_ + more).status, 200u) << path;
    }
}

TEST_F(scope, dashboard_shows_the_clusters_of_its_token) {
  auto const page = open(train_);
  ASSERT_EQ(page->status(), 101u);
  for (std::string const topic :
       {"counters", "jobs", "clusters", "tasks", "barriers", "agents", "programs"}) {
    ASSERT_TRUE(page->send(R"({"t":"sub","topic":")" + topic + "\"}"));
    auto const text = json::serialize(page->receive("snap", topic));
    EXPECT_FALSE(contains(text, main_job_) || contains(text, "of_main")) << text;
    if (topic == "jobs") {
      EXPECT_TRUE(contains(text, train_job_)) << text;
    }
    if (topic == "counters") {
      EXPECT_TRUE(contains(text, "\"queued\":1,")) << text;
    }
    if (topic == "clusters") {
      EXPECT_FALSE(contains(text, "default")) << text;
    }
  }
  auto const second = submit_to("train", "later");
  for (json::value news; !contains(json::serialize(news), second);) {
    news = page->receive("d", "jobs");
    ASSERT_FALSE(news.is_null());
  }
  auto const known = [&](std::string const& job) {
    page->send(R"({"t":"sub","topic":"logs:)" + job + "\"}");
    return page->receive("snap", "logs:" + job).at("known");
  };
  EXPECT_EQ(known(main_job_), false);
  EXPECT_EQ(known(train_job_), true);
  EXPECT_TRUE(contains(body(train_, "/api/v1/samples"), "\"queued\""));
}

TEST_F(scope, dashboard_with_another_set_of_clusters_gets_snapshots) {
  auto const whole = open(admin_);
  auto const boot = text_at(whole->receive("hello"), "/boot");
  auto const bound = open(main_);
  EXPECT_NE(text_at(bound->receive("hello"), "/boot"), boot);
  bound->send(R"({"t":"resume","boot":")" + boot + R"(","topics":{"jobs":1}})");
  EXPECT_FALSE(bound->receive("snap", "jobs").is_null());
}

TEST_F(scope, too_many_sets_of_clusters_are_refused) {
  std::vector<std::unique_ptr<socket>> pages;
  auto const open_for = [&](std::size_t n) {
    return open(make_token(core::role::viewer, {"c" + std::to_string(n)}));
  };
  for (std::size_t n = 0; n < 32; ++n) {
    pages.push_back(open_for(n));
    ASSERT_EQ(pages.back()->status(), 101u) << n;
  }
  EXPECT_EQ(open_for(32)->status(), 503u);
  pages.front()->drop();
  auto const deadline = std::chrono::steady_clock::now() + 10s;
  while (open_for(33)->status() != 101u)
    ASSERT_LT(std::chrono::steady_clock::now(), deadline)
        << "the place of a disconnected client stays in use";
}

}  // namespace
}  // namespace muster::web::test
