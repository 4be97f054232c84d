// Several servers with a shared store in three etcd members: one leads, and another takes over when
// it fails.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <future>
#include <iostream>
#include <thread>

#include "base/http_client/http_client.hpp"
#include "tests/e2e/cluster.hpp"
#include "tests/etcd/members.hpp"
#include "tests/support/cannot_run.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;
using clock = std::chrono::steady_clock;

class server {
 public:
  explicit server(std::string store) : store_(std::move(store)) {}

  process& start(words const& flags = {}) {
    words all{"serve", "--http", http_, "--grpc", grpc_, "--cluster", "train:worker=2"};
    if (!store_.empty()) all.insert(all.end(), {"--store", store_});
    all.insert(all.end(), flags.begin(), flags.end());
    return *(process_ = &box_.spawn(all));
  }
  process& running() { return *process_; }
  std::string const& http() const { return http_; }
  std::string const& grpc() const { return grpc_; }
  std::filesystem::path file(std::string const& name) const { return box_.file(name); }

  /// Returns nullopt if the server does not answer.
  std::optional<http_response> send(std::string const& method, std::string const& path,
                                    std::string const& body = {},
                                    std::chrono::milliseconds timeout = 30s) {
    http_request r;
    r.method = method;
    r.url = "http://" + http_ + path;
    r.body = body;
    r.timeout = timeout;
    auto answer = http_client().send(r);
    return answer ? std::optional(std::move(*answer)) : std::nullopt;
  }
  std::optional<http_response> get(std::string const& path) { return send("GET", path); }
  unsigned status(std::string const& path) {
    // Short timeout: a hanging request must not use up the test's time.
    auto const r = send("GET", path, {}, 5s);
    return r ? r->status : 0;
  }
  json::value value(std::string const& path) {
    auto const r = get(path);
    EXPECT_TRUE(r && r->ok()) << path << ": " << (r ? r->body : "nobody answers");
    return r && r->ok() ? json::parse(r->body) : json::value(json::object());
  }
  bool serves(std::chrono::milliseconds limit = 60s) {
    return await([&] { return status("/readyz") == 200; }, limit);
  }
  bool stands_by() {
    return await([&] {
      auto const r = get("/readyz");
      return r && r->status == 503 && json::parse(r->body).as_object().contains("leader");
    });
  }
  bool put(std::string const& key, std::string const& text) {
    auto const r = send("PUT", "/api/v1/clusters/train/kv/" + key, text);
    return r && r->ok();
  }
  std::string key(std::string const& key) {
    auto const r = get("/api/v1/clusters/train/kv/" + key);
    return r && r->ok() ? r->body : "status " + std::to_string(r ? r->status : 0);
  }
  void worker() { box_.spawn({"worker", "--server", grpc_}); }

 private:
  static std::string address() { return "127.0.0.1:" + std::to_string(test::free_port()); }

  cluster box_;
  std::string const store_, http_ = address(), grpc_ = address();
  process* process_ = nullptr;
};

bool is_refused(std::string const& address) {
  boost::asio::io_context context;
  boost::asio::ip::tcp::socket s(context);
  boost::system::error_code ec;
  auto const port = static_cast<unsigned short>(std::stoi(address.substr(address.find(':') + 1)));
  s.connect({boost::asio::ip::make_address("127.0.0.1"), port}, ec);
  return ec == boost::asio::error::connection_refused;
}

std::chrono::milliseconds since(clock::time_point t) {
  return std::chrono::ceil<std::chrono::milliseconds>(clock::now() - t);
}

class standby : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::etcd_is_installed()) return test::cannot_run("/usr/bin/etcd is not there");
    members_.emplace(3);
    a_.emplace(members_->url());
    b_.emplace(members_->url());
  }
  void start_both() {
    a_->start();
    ASSERT_TRUE(a_->serves()) << a_->running().errors();
    b_->start();
    ASSERT_TRUE(b_->stands_by()) << b_->running().errors();
  }

  std::optional<test::etcd_members> members_;
  std::optional<server> a_, b_;
};

TEST_F(standby, names_the_leader_and_takes_over_all_state_after_a_kill) {
  start_both();
  for (auto const* path : {"/readyz", "/api/v1/jobs", "/", "/api/v1/clusters/train"}) {
    auto const r = b_->get(path);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->status, 503u) << path;
    EXPECT_EQ(r->header("Retry-After"), "1");
    EXPECT_EQ(r->header("Content-Type"), "application/problem+json");
    auto const p = json::parse(r->body);
    EXPECT_EQ(p.at("leader"), json::value(a_->http())) << r->body;
    EXPECT_EQ(p.at("code"), "UNAVAILABLE");
  }
  EXPECT_EQ(b_->status("/livez"), 200u);
  EXPECT_TRUE(is_refused(b_->grpc()));

  ASSERT_TRUE(a_->put("a/b", "hello"));
  a_->worker();
  auto const submitted = a_->send("POST", "/api/v1/jobs",
                                  R"({"closures":[{"function":"muster.echo","args":[{"x":1}]}]})");
  ASSERT_TRUE(submitted && submitted->ok()) << submitted->body;
  auto const job = json::parse(submitted->body);
  auto const id = std::string(job.at("id").as_string());
  ASSERT_TRUE(a_->get("/api/v1/jobs/" + id + "/join?timeout=20s")->ok());
  auto const incarnation = a_->value("/api/v1/clusters/train").at("generation").at("incarnation");
  auto const durable = a_->value("/api/v1/overview").at("durable");
  EXPECT_EQ(durable.at("store"), "etcd");
  EXPECT_NE(durable.at("store_version"), "");
  EXPECT_EQ(durable.at("leader"), json::value(a_->http()));
  EXPECT_CONTAINS(a_->get("/metrics")->body, "\nmuster_store_leader 1\n");

  auto const killed = clock::now();
  a_->running().signal(SIGKILL);
  ASSERT_TRUE(b_->serves());
  auto const gap = since(killed);
  std::cout << "serves " << gap.count() << " ms after kill -9 of the leader\n";
  EXPECT_LE(gap, 5s);
  EXPECT_EQ(b_->key("a/b"), "hello");
  EXPECT_EQ(b_->value("/api/v1/clusters/train").at("generation").at("incarnation"), incarnation);
  EXPECT_EQ(b_->value("/api/v1/jobs/" + id).at("state"), "SUCCEEDED");
  auto const remote = std::string(job.at("closures").at(0).at("remote_value").as_string());
  EXPECT_EQ(b_->get("/api/v1/remote_values/" + remote + "/value")->body, R"({"x":1})");
  // A graceful stop hands over to the first server at once.
  a_->start();
  ASSERT_TRUE(a_->stands_by());
  ASSERT_TRUE(b_->put("a/c", "later"));
  auto const stopped = clock::now();
  b_->running().signal(SIGTERM);
  EXPECT_EQ(b_->running().wait(), 0) << b_->running().errors();
  ASSERT_TRUE(a_->serves());
  std::cout << "serves " << since(stopped).count() << " ms after SIGTERM of the leader\n";
  EXPECT_LE(since(stopped), 2s) << "it returned its lease";
  EXPECT_EQ(a_->key("a/c"), "later");
}

TEST_F(standby, resumed_old_leader_neither_answers_nor_writes) {
  start_both();
  ASSERT_TRUE(a_->put("k", "old"));
  a_->running().signal(SIGSTOP);
  ASSERT_TRUE(b_->serves());
  ASSERT_TRUE(b_->put("k", "new"));
  // A read and a write wait in the sockets of the stopped server.
  boost::asio::io_context context;
  std::vector<boost::asio::ip::tcp::socket> asking;
  auto const port =
      static_cast<unsigned short>(std::stoi(a_->http().substr(a_->http().find(':') + 1)));
  for (std::string const request :
       {"GET /api/v1/clusters/train/kv/k HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "PUT /api/v1/clusters/train/kv/k HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Length: 4\r\n\r\nolds"}) {
    auto& s = asking.emplace_back(context);
    s.connect({boost::asio::ip::make_address("127.0.0.1"), port});
    boost::asio::write(s, boost::asio::buffer(request));
  }
  a_->running().signal(SIGCONT);
  for (auto& s : asking) {
    boost::system::error_code ec;
    std::string said;
    boost::asio::read(s, boost::asio::dynamic_buffer(said), ec);
    EXPECT_EQ(said, "");
  }
  EXPECT_EQ(a_->running().wait(), 4) << a_->running().errors();
  EXPECT_TRUE(a_->running().says("exiting immediately: "));
  EXPECT_EQ(b_->key("k"), "new");
}

TEST_F(standby, server_survives_the_loss_of_the_etcd_leader) {
  a_->start();
  ASSERT_TRUE(a_->serves()) << a_->running().errors();
  ASSERT_TRUE(a_->put("k", "1"));
  auto const leader = members_->leader();
  ASSERT_TRUE(leader);
  auto const killed = clock::now();
  members_->member(*leader).signal(SIGKILL);
  // On a busy host, etcd's election can outlast the call. The outcome of that put is unknown.
  ASSERT_TRUE(await([&] { return a_->put("k", "2"); })) << a_->running().errors();
  std::cout << "writes " << since(killed).count() << " ms after kill -9 of etcd's leader\n";
  EXPECT_EQ(a_->key("k"), "2");
  EXPECT_TRUE(a_->running().running());
}

TEST_F(standby, etcd_leader_and_server_can_fail_together) {
  start_both();
  ASSERT_TRUE(a_->put("k", "1"));
  auto const leader = members_->leader();
  ASSERT_TRUE(leader);
  auto const killed = clock::now();
  a_->running().signal(SIGKILL);
  members_->member(*leader).signal(SIGKILL);
  ASSERT_TRUE(b_->serves()) << b_->running().errors();
  std::cout << "serves " << since(killed).count() << " ms after kill -9 of both leaders\n";
  EXPECT_LE(since(killed), 10s);
  EXPECT_EQ(b_->key("k"), "1");
}

TEST_F(standby, leader_exits_and_others_wait_without_etcd) {
  start_both();
  for (std::size_t i = 0; i < 3; ++i) members_->member(i).signal(SIGKILL);
  EXPECT_EQ(a_->running().wait(), 4);
  EXPECT_TRUE(a_->running().says("etcd has not renewed the lease in time"));
  ASSERT_TRUE(await([&] {
    auto const r = b_->get("/readyz");
    return r && r->status == 503 && r->body.find("etcd does not answer") != std::string::npos;
  }));
  b_->running().signal(SIGTERM);
  EXPECT_EQ(b_->running().wait(), 0);
}

// A call in progress also ends at the signal.
TEST_F(standby, a_signal_ends_both_at_once_while_etcd_is_silent) {
  start_both();
  for (std::size_t i = 0; i < 3; ++i) members_->member(i).signal(SIGSTOP);
  // The write waits, unacknowledged.
  auto const submitted = std::async(
      std::launch::async, [&] { return a_->send("PUT", "/api/v1/clusters/train/kv/k", "v"); });
  ASSERT_TRUE(await([&] {
    auto const m = a_->get("/metrics");
    return m && m->body.find("\nmuster_journal_waiting_bytes 0\n") == std::string::npos;
  }));
  for (auto* s : {&*b_, &*a_}) {
    auto const told = clock::now();
    s->running().signal(SIGTERM);
    EXPECT_EQ(s->running().wait(), 0) << s->running().errors();
    auto const took = since(told);
    std::cout << "ends " << took.count() << " ms after SIGTERM while etcd is silent\n";
    EXPECT_LE(took, 1500ms);
  }
  EXPECT_TRUE(a_->running().says("the server is stopping, and etcd does not answer"));
  EXPECT_TRUE(a_->running().says(members_->host(2)));
  for (std::size_t i = 0; i < 3; ++i) members_->member(i).signal(SIGCONT);
}

// Its port is open some seconds before it answers.
TEST_F(standby, may_be_started_before_etcd_answers) {
  for (std::size_t i = 0; i < 3; ++i) members_->member(i).signal(SIGSTOP);
  a_->start();
  ASSERT_TRUE(await([&] { return a_->status("/livez") == 200; }));
  std::this_thread::sleep_for(2s);  // of its five seconds
  for (std::size_t i = 0; i < 3; ++i) members_->member(i).signal(SIGCONT);
  EXPECT_TRUE(a_->serves()) << a_->running().errors();
}

TEST_F(standby, worker_behind_a_relay_follows_and_runs_accepted_jobs) {
  start_both();
  cluster box;
  auto const relay = "127.0.0.1:" + std::to_string(test::free_port());
  box.spawn({"proxy", "--listen", relay, "--upstream", a_->grpc() + "," + b_->grpc(),
             "--upstream-http", a_->http() + "," + b_->http()});
  auto const submit = [](server& s) {
    auto const r =
        s.send("POST", "/api/v1/jobs", R"({"closures":[{"function":"muster.echo","args":[1]}]})");
    EXPECT_TRUE(r && r->ok()) << (r ? r->body : "nobody answers");
    return r && r->ok() ? std::string(json::parse(r->body).at("id").as_string()) : "none";
  };
  auto const ends = [](server& s, std::string const& job) {
    auto const r = s.get("/api/v1/jobs/" + job + "/join?timeout=25s");
    return r && r->ok() ? std::string(json::parse(r->body).at("state").as_string()) : "unknown";
  };
  box.spawn({"worker", "--server", relay});
  EXPECT_EQ(ends(*a_, submit(*a_)), "SUCCEEDED");
  // The job is accepted now, and due under the next leader.
  auto const r = a_->send("POST", "/api/v1/jobs", R"({"closures":[{"function":"muster.echo",
      "args":[2],"options":{"delay":"4s"}}]})");
  ASSERT_TRUE(r && r->ok()) << r->body;
  auto const accepted = std::string(json::parse(r->body).at("id").as_string());
  a_->running().signal(SIGKILL);
  ASSERT_TRUE(b_->serves());
  EXPECT_EQ(ends(*b_, accepted), "SUCCEEDED");
  EXPECT_EQ(ends(*b_, submit(*b_)), "SUCCEEDED");
}

TEST_F(standby, continues_a_program_without_starting_a_rank_twice) {
  start_both();
  cluster box;
  auto const relay = "127.0.0.1:" + std::to_string(test::free_port());
  box.spawn({"proxy", "--listen", relay, "--upstream", a_->grpc() + "," + b_->grpc(),
             "--upstream-http", a_->http() + "," + b_->http()});
  box.spawn({"worker", "--server", relay, "--allow-programs"});
  auto const starts = box.file("starts").string(), go = box.file("go").string();
  auto const script = "echo $RANK $MUSTER_ATTEMPT >> " + starts + "; while [ ! -e " + go +
                      " ]; do sleep 0.02; done";
  auto const body = json::serialize(json::object{{"command", json::array{"sh", "-c", script}},
                                                 {"tasks", json::object{{"worker", 3}}}});
  auto const made = a_->send("POST", "/api/v1/programs", body);
  ASSERT_TRUE(made && made->ok()) << (made ? made->body : "nobody answers");
  auto const path = "/api/v1/programs/" + std::string(json::parse(made->body).at("id").as_string());
  auto const is = [&](server& s, std::string_view state) {
    return await([&] { return s.value(path).at("state").as_string() == state; });
  };
  ASSERT_TRUE(is(*a_, "RUNNING"));
  a_->running().signal(SIGKILL);
  ASSERT_TRUE(b_->serves());
  EXPECT_EQ(b_->value(path).at("state"), "RUNNING");
  ASSERT_TRUE(await([&] {
    auto const ranks = b_->value(path + "/ranks").at("ranks").as_array();
    return std::all_of(ranks.begin(), ranks.end(),
                       [](auto const& r) { return r.at("state") == "RUNNING"; });
  })) << "its worker has attached";
  box.write("go", "");
  EXPECT_TRUE(is(*b_, "SUCCEEDED"));
  EXPECT_EQ(b_->value(path).at("attempt"), 1);
  auto const noted = test::read_file(starts);
  EXPECT_EQ(std::count(noted.begin(), noted.end(), '\n'), 3) << noted;
}

TEST_F(standby, supervised_server_restarts_as_a_standby) {
  a_->start({"--supervise"});
  ASSERT_TRUE(a_->serves()) << a_->running().errors();
  b_->start({"--supervise"});
  ASSERT_TRUE(b_->stands_by());
  auto const child = first_child_of(a_->running().pid());
  ASSERT_GT(child, 0);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_TRUE(await([&] { return b_->status("/readyz") == 200 || a_->status("/readyz") == 200; }));
  auto& next = b_->status("/readyz") == 200 ? *b_ : *a_;
  auto& other = &next == &*b_ ? *a_ : *b_;
  ASSERT_TRUE(other.stands_by());
  EXPECT_TRUE(await([&] { return is_refused(other.grpc()); })) << "its sockets are closed";
  EXPECT_TRUE(next.put("k", "v"));
  for (auto* s : {&other, &next}) {
    s->running().signal(SIGTERM);
    EXPECT_EQ(s->running().wait(), 0) << s->running().errors();
  }
}

TEST(store_flags, invalid_combinations_are_one_clear_line) {
  auto const said = [](words const& flags, int status) {
    server s("");
    auto& p = s.start(flags);
    EXPECT_EQ(p.wait(), status);
    auto const text = p.errors();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    return text;
  };
  auto const nobody = "etcd://127.0.0.1:" + std::to_string(test::free_port()) + "/p";
  auto const host = nobody.substr(7, nobody.rfind('/') - 7);
  EXPECT_CONTAINS(said({"--store", nobody}, 2),
                  "--store " + nobody + ": no answer within 5 s; asked for the leader: " + host +
                      " (connection refused)");
  EXPECT_CONTAINS(said({"--store", nobody, "--data-dir", "/tmp/x"}, 2), "use only one of them");
  EXPECT_CONTAINS(said({"--store-ca", "/tmp/x"}, 2), "--store");
  EXPECT_CONTAINS(said({"--store", nobody, "--store-ca", "/tmp/x"}, 2), "etcds://");
  EXPECT_CONTAINS(said({"--store", nobody, "--store-lease", "1s"}, 2), "--store-lease");
}

}  // namespace
}  // namespace muster::e2e
