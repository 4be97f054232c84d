#include "server/history/machines/machines.hpp"

#include "tests/web/rest/worker_fixture.hpp"

namespace muster::web::test {
namespace machine_cases {

struct rest_machines : worker_fixture<> {
  static machine one(std::uint64_t memory) {
    machine m;
    m.host = "h1";
    m.cpu = 1.5, m.cpus = 4;
    m.memory = memory, m.memory_total = 10'000;
    m.received = 1, m.sent = 2, m.read = 3, m.written = 4;
    m.gpus = {{"H100", 0.5, 20, 80}, {"H100", {}, {}, {}}};
    m.memory_users = {{70, "loader", 900}};
    return m;
  }
  void report(std::uint64_t memory) {
    core_engine().run([&](server::hub& h) { h.report(w.stream, one(memory)); });
  }
};

TEST_F(rest_machines, are_listed_by_task_and_host) {
  start_with_worker();
  report(5'000);
  core_engine().run([&](server::hub& h) { h.machines().report({}, one(1), h.now()); });
  auto const all = get_json("/api/v1/machines").at("machines").as_array();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(text_at(all[0], "/kind"), "server");
  EXPECT_EQ(text_at(all[1], "/task"), "worker:0");
  EXPECT_EQ(text_at(all[1], "/host"), "h1");
  auto const& m = all[1].at("machine");
  EXPECT_EQ(m.at("cpu"), 1.5);
  EXPECT_EQ(m.at("memory_bytes"), 5'000);
  EXPECT_EQ(m.at_pointer("/gpus/0/busy"), 0.5);
  EXPECT_FALSE(m.at_pointer("/gpus/1").as_object().contains("busy")) << "unknown instead of zero";
  EXPECT_EQ(text_at(m, "/memory_users/0/name"), "loader");
  EXPECT_FALSE(all[1].as_object().contains("samples"));
  EXPECT_EQ(get_json("/api/v1/machines?host=h2").at("machines").as_array().size(), 0u);
  EXPECT_EQ(
      get_json("/api/v1/machines?cluster=default&task=worker:0").at("machines").as_array().size(),
      1u);
  EXPECT_EQ(get("/api/v1/machines?cluster=none").status, 404u);
  auto const first = get_json("/api/v1/machines?limit=1");
  auto const second =
      get_json("/api/v1/machines?limit=1&page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(text_at(second, "/machines/0/task"), "worker:0");
  EXPECT_FALSE(second.as_object().contains("next_page_token"));
}

TEST_F(rest_machines, tasks_include_their_machines) {
  start_with_worker();
  auto const path = std::string("/api/v1/clusters/default/tasks");
  EXPECT_FALSE(get_json(path + "/worker/0").as_object().contains("machine"))
      << "the worker reports no machine";
  report(5'000);
  EXPECT_EQ(get_json(path + "/worker/0").at_pointer("/machine/cpus"), 4);
  EXPECT_EQ(get_json(path).at_pointer("/tasks/0/machine/memory_bytes"), 5'000);
  core_engine().run([this](server::hub& h) {
    h.detach(w.stream);
    h.apply(core::worker_disconnected{w.stream, true, "left", false});
  });
  auto const gone = get_json("/api/v1/machines?samples=2");
  EXPECT_EQ(gone.at_pointer("/machines/0/fresh"), false);
  EXPECT_FALSE(gone.at_pointer("/machines/0").as_object().contains("machine"));
  EXPECT_EQ(gone.at_pointer("/machines/0/samples/cpu/0"), 1.5) << "earlier samples are kept";
}

TEST_F(rest_machines, are_filtered_by_job) {
  start_with_worker();
  report(5'000);
  add_worker(worker::habit::echo, 1, 1);
  core_engine().run([&](server::hub& h) {
    auto m = one(1);
    m.host = "h2";
    h.machines().report("worker:1", std::move(m), h.now());
  });
  auto const submit = [&](std::string const& function) {
    auto const job = R"({"closures":[{"function":")" + function + R"("}]})";
    return text_at(post_json("/api/v1/jobs", job, 201), "/id");
  };
  auto const machines_of = [&](std::string const& id, std::string const& more = {}) {
    return get_json("/api/v1/machines?job=" + id + more).at("machines").as_array();
  };
  auto const ended = submit("muster.echo");
  get_json("/api/v1/jobs/" + ended + "/join?timeout=10s");
  auto const found = machines_of(ended);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text_at(found[0], "/host"), "h2");
  EXPECT_EQ(text_at(found[0], "/task"), "worker:1");
  auto const running = machines_of(submit("f"));
  ASSERT_EQ(running.size(), 1u) << "before the first closure has ended";
  EXPECT_EQ(text_at(running[0], "/host"), "h1");
  EXPECT_EQ(machines_of(ended, "&host=h1").size(), 0u);
  EXPECT_EQ(get("/api/v1/machines?job=job_00000000000f4240").status, 404u);
  EXPECT_EQ(text_at(get_json("/api/v1/machines?job=x", 404), "/detail"), "there is no job 'x'");
}

TEST_F(rest_machines, have_samples) {
  start_with_worker();
  for (std::uint64_t i = 1; i <= 3; ++i) report(i);
  auto const s = get_json("/api/v1/machines?samples=2").at_pointer("/machines/0/samples");
  EXPECT_EQ(s.at("memory_bytes"), json::parse("[2,3]"));
  EXPECT_EQ(s.at("seconds").as_array().size(), 2u);
  EXPECT_EQ(s.at("gpu_busy"), json::parse("[0.5,0.5]"));
  auto const refused = get("/api/v1/machines?samples=721");
  EXPECT_EQ(refused.status, 400u) << refused.body;
}

TEST_F(rest_machines, machine_near_its_limit_causes_an_alert) {
  start_with_worker();
  for (std::size_t i = 1; i < history::machines::near_limit_after; ++i) report(9'600);
  EXPECT_EQ(get_json("/api/v1/attention?cluster=default").at("items").as_array().size(), 0u);
  report(9'600);
  auto const item = get_json("/api/v1/attention?cluster=default").at_pointer("/items/0");
  EXPECT_EQ(text_at(item, "/rule"), "memory-short");
  EXPECT_EQ(text_at(item, "/title"), "worker:0 on h1 has 96 % of its memory in use");
  EXPECT_EQ(text_at(item, "/link").substr(0, 17), "/workers/worker:0");
  EXPECT_NE(text_at(item, "/detail").find("loader (process 70)"), std::string::npos)
      << text_at(item, "/detail");
  core_engine().run([](server::hub& h) {
    for (std::size_t i = 0; i < history::machines::near_limit_after; ++i)
      h.machines().report({}, one(9'700), h.now());
  });
  auto const both = get_json("/api/v1/attention?cluster=default").at("items").as_array();
  ASSERT_EQ(both.size(), 1u) << "both tasks share the machine";
  EXPECT_EQ(text_at(both[0], "/title"), "host h1 has 97 % of its memory in use");
  EXPECT_EQ(text_at(both[0], "/detail").substr(0, 21), "the server, worker:0;");
  core_engine().run([](server::hub& h) { h.machines().report({}, one(1), h.now()); });
  report(5'000);
  EXPECT_EQ(get_json("/api/v1/attention?cluster=default").at("items").as_array().size(), 0u);
}

TEST_F(rest_machines, metrics_include_machines) {
  start_with_worker();
  EXPECT_EQ(get("/metrics").body.find("muster_worker_memory_bytes{"), std::string::npos);
  report(5'000);
  auto const text = get("/metrics").body;
  for (auto const* line : {"muster_worker_cpu_cores{task=\"worker:0\"} 1.5\n",
                           "muster_worker_memory_bytes{task=\"worker:0\"} 5000\n",
                           "muster_worker_gpu_busy{task=\"worker:0\",gpu=\"0\"} 0.5\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace machine_cases
}  // namespace muster::web::test
