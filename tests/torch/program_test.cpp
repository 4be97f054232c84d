// The TCPStore in a real server: settings, REST, command line, and training by unmodified processes
// with Debian's torch 1.13, if it is installed.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tests/e2e/cluster.hpp"
#include "tests/support/raw_socket.hpp"
#include "tests/torch/torch_clients.hpp"

namespace muster::e2e {
namespace {

namespace say = torch::say;
using test::raw_socket;
using torch::text;
using torch::u64;

std::string text_at(boost::json::value const& of, char const* key) {
  auto const* found = of.as_object().if_contains(key);
  return found && found->is_string() ? std::string(found->as_string()) : std::string();
}

std::uint16_t port_of_store(cluster& c, std::string const& name = "default") {
  auto const address = text_at(c.get("/api/v1/clusters/" + name), "torch_address");
  EXPECT_NE(address, "");
  return address.empty() ? 0 : test::port_of(address);
}

boost::json::value store(cluster& c, std::string const& name = "default") {
  return c.get("/api/v1/clusters/" + name + "/torch");
}

void begin(raw_socket& s, std::uint32_t pid) {
  s.send(say::validate() + say::ping(pid));
  EXPECT_EQ(s.receive(4), u64(pid).substr(0, 4));
}

TEST(torch_program, reports_missing_ranks) {
  cluster c;
  c.serve({"--torch", "127.0.0.1:0"});
  auto const port = port_of_store(c);
  raw_socket zero(port), two(port);
  begin(zero, 100);
  begin(two, 102);
  zero.send(say::set("/default_pg/0//cpu//0/0", "a"));
  two.send(say::set("/default_pg/0//cpu//0/2", "c") + say::wait({"/default_pg/0//cpu//0/1"}));
  ASSERT_TRUE(await([&] { return store(c).at("waits").as_array().size() == 1; }));
  auto const seen = store(c);
  EXPECT_EQ(boost::json::serialize(seen.at("missing")), "[1]");
  EXPECT_EQ(seen.at("ranks").as_array().size(), 2u);
  EXPECT_EQ(seen.at("ranks").at(1).at("pid").as_int64(), 102);

  auto const shown = c.run({"torch"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_CONTAINS(shown.out, "missing      rank 1");
  EXPECT_CONTAINS(shown.out, "/default_pg/0//cpu//0/1");
  EXPECT_CONTAINS(c.run({"clusters", "show", "default"}).out,
                  "torch store   127.0.0.1:" + std::to_string(port));
  auto const keys = c.run({"torch", "keys", "--prefix", "/default_pg"});
  EXPECT_CONTAINS(keys.out, "/default_pg/0//cpu//0/2");
  auto const page = c.get("/api/v1/clusters/default/torch/keys?limit=1");
  auto const next = text_at(page, "next_page_token");
  EXPECT_EQ(c.get("/api/v1/clusters/default/torch/keys?limit=1&page_token=" + next)
                .at("keys")
                .at(0)
                .at("key")
                .as_string(),
            "/default_pg/0//cpu//0/2");

  two.close();
  EXPECT_TRUE(
      await([&] { return c.text("/api/v1/events").find("torch_rank_left") != std::string::npos; }));
}

TEST(torch_program, renew_command_begins_an_attempt) {
  cluster c;
  c.serve({"--torch", "127.0.0.1:0"});
  raw_socket old(port_of_store(c));
  begin(old, 1);
  old.send(say::set("/k", "old") + say::get("/k"));
  EXPECT_EQ(old.receive(), text("old"));
  auto const renewed = c.run({"torch", "renew"});
  EXPECT_EQ(renewed.out, "attempt 2: clients that connect from now on find an empty store\n");
  raw_socket fresh(port_of_store(c));
  begin(fresh, 2);
  fresh.send(say::get("/k"));
  EXPECT_EQ(fresh.receive(), u64(0));
  EXPECT_EQ(c.status_of("/api/v1/clusters/default/torch/keys?attempt=1"), 200u);
  EXPECT_EQ(c.status_of("/api/v1/clusters/default/torch/keys?attempt=9"), 404u);
}

TEST(torch_program, stores_are_opened_and_closed_with_clusters) {
  cluster c;
  c.serve({"--cluster", "main:worker=1", "--cluster", "train:worker=2;torch=0;torch_era=B"});
  EXPECT_EQ(c.status_of("/api/v1/clusters/main/torch"), 404u);
  raw_socket early(port_of_store(c, "train"));
  early.send(torch::byte(8) + text("/k") + text("v") + torch::byte(2) + text("/k"));
  EXPECT_EQ(early.receive(), text("v")) << "8 is APPEND of torch 2.1";
  c.post("/api/v1/clusters", R"({"name": "more", "torch": 0})");
  raw_socket later(port_of_store(c, "more"));
  begin(later, 1);
  EXPECT_EQ(c.run({"clusters", "delete", "more"}).status, 0);
  EXPECT_TRUE(later.ends());
}

TEST(torch_program, contradictory_flags_are_reported) {
  cluster c;
  auto const both = c.run({"serve", "--torch", "127.0.0.1:0", "--cluster", "a:w=1;torch=0"});
  EXPECT_EQ(both.status, 2);
  EXPECT_CONTAINS(both.err, "--torch and torch=PORT of cluster a");
  auto const from = c.run({"serve", "--torch-from", "everywhere"});
  EXPECT_EQ(from.status, 2);
  EXPECT_CONTAINS(from.err, "--torch-from");
  auto const key = c.run({"serve", "--cluster", "a:w=1;torch=70000"});
  EXPECT_EQ(key.status, 2);
  EXPECT_CONTAINS(key.err, "write a port, as in torch=29500");
  c.serve({"--torch", "127.0.0.1:0"});
  auto const port = std::to_string(port_of_store(c));
  auto const taken = c.run(
      {"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--torch", "127.0.0.1:" + port});
  EXPECT_EQ(taken.status, 2);
  EXPECT_CONTAINS(taken.err, "--torch: ");
  EXPECT_CONTAINS(taken.err, port);
  auto const other =
      c.run({"serve", "--grpc", c.grpc(), "--http", "127.0.0.1:0", "--torch", "127.0.0.1:0"});
  EXPECT_EQ(other.status, 2);
  EXPECT_CONTAINS(other.err, "--grpc: ");
}

class torch_training : public ::testing::Test {
 protected:
  void SetUp() override {
    auto& asked = c.program({"/usr/bin/python3", "-c", "import torch"});
    if (asked.wait(60s) != 0) {
      auto const* const ci = std::getenv("CI");
      ASSERT_FALSE(ci && ci == std::string_view("true")) << "python3-torch is not installed";
      GTEST_SKIP() << "SKIPPED, NOT RUN: python3-torch is not installed (scripts/deps --only)";
    }
    serve();
    port = std::to_string(port_of_store(c));
  }
  void serve() {
    server = &c.serve({"--torch", "127.0.0.1:0", "--data-dir", c.file("data").string()});
  }
  process& rank(int r, std::string const& program) {
    return c.program({"/usr/bin/python3", program}, {{"RANK", std::to_string(r)},
                                                     {"WORLD_SIZE", "4"},
                                                     {"MASTER_ADDR", "127.0.0.1"},
                                                     {"MASTER_PORT", port},
                                                     {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                     {"TORCHELASTIC_RESTART_COUNT", "0"},
                                                     {"GLOO_SOCKET_IFNAME", "lo"},
                                                     {"OMP_NUM_THREADS", "1"}});
  }
  std::vector<process*> all(std::string const& program) {
    std::vector<process*> ranks;
    for (int r = 0; r < 4; ++r) ranks.push_back(&rank(r, program));
    return ranks;
  }
  void expect_trained(std::vector<process*> const& ranks) {
    for (int r = 0; r < 4; ++r) {
      auto& p = *ranks[static_cast<std::size_t>(r)];
      EXPECT_EQ(p.wait(200s), 0) << p.errors();
      EXPECT_EQ(p.output(), "rank " + std::to_string(r) +
                                " of 4: loss 0.0000, weights [0, 1, 2, 3, 4, 5, 6, 7]\n");
    }
  }

  cluster c;
  process* server = nullptr;
  std::string port;
  std::string const example = MUSTER_SOURCE_DIR "/examples/python/data_parallel_torch.py";
};

TEST_F(torch_training, four_processes_train_twice) {
  expect_trained(all(example));
  expect_trained(all(example));
  auto const attempts = store(c).at("attempts");
  EXPECT_EQ(attempts.at(0).at("number").as_int64(), 2);
  EXPECT_EQ(attempts.at(0).at("cause").as_string(), "all_left");
}

// The other ranks keep using the store after rank 0 was killed. Torch's own store would have ended
// with it.
TEST_F(torch_training, all_ranks_restart_after_one_is_killed) {
  auto const program = c.write("survivor.py", R"(import datetime, os, sys, time
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
store = dist.distributed_c10d._get_default_store()
store.add("ready", 1)
while store.add("ready", 0) < 4: time.sleep(0.01)
if rank == 0: time.sleep(600)
store.get("killed")
store.add("alive", 1)
while store.add("alive", 0) < 3: time.sleep(0.01)
print("alive", flush=True)
time.sleep(600)
)")
                           .string();
  auto const old = all(program);
  ASSERT_TRUE(await(
      [&] {
        auto const waits = store(c).at("waits").as_array();
        return waits.size() == 1 && waits[0].at("count").as_int64() == 3 &&
               std::string(waits[0].at("key").as_string()).ends_with("killed");
      },
      200s));
  old[0]->kill_at_once();
  auto const key = std::string(store(c).at("waits").at(0).at("key").as_string());
  raw_socket by_hand(test::port_of("127.0.0.1:" + port));
  by_hand.send(say::validate() + say::set(key, "yes"));
  for (std::size_t r = 1; r < 4; ++r)
    EXPECT_TRUE(await([&] { return old[r]->output() == "alive\n"; })) << old[r]->errors();
  by_hand.close();

  expect_trained(all(example));
  EXPECT_EQ(store(c).at("attempts").at(0).at("cause").as_string(), "rank_anew");
}

// Programs that use the server's store without an address in their command.
class torch_programs : public torch_training {
 protected:
  /// Writes a program with a preamble. Its function `hold(name)` waits until that file exists.
  std::string write(std::string const& name, std::string const& body) {
    return c
        .write(name, R"(import os, runpy, sys, time
import torch, torch.distributed as dist
rank, attempt = int(os.environ["RANK"]), int(os.environ["MUSTER_ATTEMPT"])
def hold(name):
    while not os.path.exists(os.path.join(")" +
                         c.file("").string() + R"(", name)): time.sleep(0.02)
def train(): runpy.run_path(")" +
                         example + R"(", run_name="__main__")
)" + body)
        .string();
  }
  void launch(std::string const& program, words const& flags = {}) {
    words all{"launch", "--detach", "--tasks", "4", "--env", "OMP_NUM_THREADS=1"};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", "/usr/bin/python3", program});
    auto const launched = c.run(all);
    ASSERT_EQ(launched.status, 0) << launched.err;
    id = launched.out.substr(0, launched.out.find('\n'));
  }
  boost::json::value look() { return c.get("/api/v1/programs/" + id); }
  int attempt() { return look().at("attempt").to_number<int>(); }
  void expect_trained_in(int attempt, int restarts) {
    EXPECT_TRUE(await([&] { return look().as_object().contains("finished_ms"); }, 200s));
    auto const p = look();
    EXPECT_EQ(p.at("state").as_string(), "SUCCEEDED") << boost::json::serialize(p);
    EXPECT_EQ(p.at("attempt").to_number<int>(), attempt);
    EXPECT_EQ(p.at("restarts").to_number<int>(), restarts);
  }
  bool is_missing(std::string const& ranks) {
    return await(
        [&] {
          return c.status_of("/api/v1/clusters/" + id + "/torch") == 200 &&
                 boost::json::serialize(store(c, id).at("missing")) == ranks;
        },
        200s);
  }

  std::string id;
};

// Rank 2 arrives late, and then rank 0 is killed without effect on the store. The next attempt
// starts with an empty store.
TEST_F(torch_programs, receive_their_store_address_and_an_empty_store_in_each_attempt) {
  c.worker({"--allow-programs"});
  ASSERT_TRUE(c.await_tasks(1));
  launch(write("killed.py", R"(if attempt == 1:
    if rank == 2: hold("come")
    dist.init_process_group("gloo")
    dist.barrier()
    if rank == 0: os.kill(os.getpid(), 9)
    time.sleep(600)
hold("go")
train()
)"),
         {"--max-restarts", "1"});
  ASSERT_TRUE(is_missing("[2]")) << boost::json::serialize(look());
  auto const waits = store(c, id);
  EXPECT_EQ(waits.at("ranks_expected").as_int64(), 4);
  EXPECT_EQ(waits.at("ranks").as_array().size(), 3u);
  EXPECT_CONTAINS(c.run({"torch", "--cluster", id}).out, "missing      rank 2");
  c.write("come", "");
  ASSERT_TRUE(await([&] { return attempt() == 2; }, 200s));
  auto const fresh = store(c, id);
  EXPECT_EQ(fresh.at("attempts").at(0).at("cause").as_string(), "launched");
  EXPECT_EQ(fresh.at("attempts").at(0).at("keys").as_int64(), 0);
  c.write("go", "");
  expect_trained_in(2, 1);
  EXPECT_EQ(store(c).at("connections_total").as_int64(), 0)
      << "the store of the main cluster is another one";
  EXPECT_EQ(c.status_of("/api/v1/clusters/" + id + "/torch"), 404u)
      << "it was removed with its program";
}

TEST_F(torch_programs, survive_the_loss_of_the_host_of_rank_0) {
  auto& first = c.worker({"--index", "0", "--allow-programs", "--program-lease", "2s"});
  c.worker({"--index", "1", "--allow-programs", "--program-lease", "2s"});
  ASSERT_TRUE(c.await_tasks(2));
  launch(write("lost.py", R"(if attempt == 1:
    dist.init_process_group("gloo")
    hold("never")
train()
)"));
  ASSERT_TRUE(await([&] { return store(c, id).at("ranks").as_array().size() == 4; }, 200s));
  first.kill_at_once();
  expect_trained_in(2, 0);
}

// Clients of torch never reconnect, so later requests to the store fail. Ranks that already know
// each other continue. The next attempt works normally.
TEST_F(torch_programs, continue_without_a_server_until_they_use_their_store) {
  c.worker({"--allow-programs"});
  ASSERT_TRUE(c.await_tasks(1));
  launch(write("alone.py", R"(if attempt == 1:
    dist.init_process_group("gloo")
    kept = dist.distributed_c10d._get_default_store()
    kept.set("met%d" % rank, "yes")
    hold("go")
    dist.barrier()
    try: kept.get("met%d" % rank)
    except RuntimeError: sys.exit(3)
    sys.exit(4)
train()
)"),
         {"--max-restarts", "1"});
  ASSERT_TRUE(await(
      [&] {
        auto const keys = "/api/v1/clusters/" + id + "/torch/keys?limit=1000";
        return c.status_of(keys) == 200 && c.text(keys).find("met3") != std::string::npos &&
               c.text(keys).find("met2") != std::string::npos &&
               c.text(keys).find("met1") != std::string::npos &&
               c.text(keys).find("met0") != std::string::npos;
      },
      200s));
  server->kill_at_once();
  serve();
  ASSERT_TRUE(c.await_tasks(1));
  c.write("go", "");
  expect_trained_in(2, 1);
  auto const first = c.get("/api/v1/programs/" + id + "/attempts/1");
  EXPECT_EQ(first.at("cause").at("exit_status").as_int64(), 3) << boost::json::serialize(first);
}

TEST_F(torch_programs, use_a_store_at_rank_0_if_requested_or_set_in_the_environment) {
  c.worker({"--allow-programs"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const plain = write("plain.py", "train()\n");
  launch(plain, {"--store", "rank0"});
  expect_trained_in(1, 0);
  EXPECT_EQ(look().at("store").as_string(), "rank0");
  launch(plain, {"--env", "MASTER_ADDR=127.0.0.1", "--env", "MASTER_PORT=" + port, "--env",
                 "TORCHELASTIC_USE_AGENT_STORE=True"});
  expect_trained_in(1, 0);
  EXPECT_EQ(store(c).at("attempts").at(0).at("number").as_int64(), 1)
      << "the store of the main cluster";
}

// muster run makes the cluster that it declares serve the store.
TEST_F(torch_programs, of_a_run_use_the_cluster_that_it_declares) {
  auto const program = c.write("run.py", R"(import os, runpy, sys
import torch.distributed as dist
print("store", os.environ["MASTER_ADDR"], os.environ["TORCHELASTIC_USE_AGENT_STORE"])
if os.environ["MUSTER_RESTART_COUNT"] == "0":
    dist.init_process_group("gloo")
    dist.barrier()
    sys.exit(3 if dist.get_rank() == 2 else 0)
runpy.run_path(sys.argv[1], run_name="__main__")
)")
                           .string();
  auto const r = c.run({"run", "--nproc", "4", "--declare", "train", "--url", c.url(), "--grace",
                        "1s", "--max-restarts", "1", "--", "/usr/bin/python3", program, example});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_CONTAINS(r.out, "worker:3 | store 127.0.0.1 True");
  EXPECT_CONTAINS(r.out, "worker:0 | rank 0 of 4: loss 0.0000");
  EXPECT_CONTAINS(c.text("/api/v1/events"), "attempt 2 starts with no keys");
  auto const wrong = c.run({"run", "--store", "server", "--", "true"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_CONTAINS(wrong.err, "--store server needs --declare");
  EXPECT_CONTAINS(c.run({"run", "--store", "there", "--", "true"}).err,
                  "--store there: write server, rank0 or HOST:PORT");
  EXPECT_EQ(c.run({"run", "--no-prefix", "--store", "[::1]:77", "--", "sh", "-c",
                   "echo $MASTER_ADDR $MASTER_PORT $TORCHELASTIC_USE_AGENT_STORE"})
                .out,
            "::1 77 True\n");
}

}  // namespace
}  // namespace muster::e2e
