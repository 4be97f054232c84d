#include "server/history/machines/machines.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace host_cases {

struct rest_hosts : web_fixture {
  void SetUp() override { start(); }

  core::stream_id attach(std::int64_t index, std::string host) {
    core::stream_id id{};
    auto& w = *sinks.emplace_back(std::make_unique<server::hub_worker>());
    core_engine().run([&](server::hub& h) {
      id = h.attach(w);
      core::worker_attached e{id, {}};
      e.spec.functions = {"f"};
      e.spec.index = index;
      e.spec.incarnation = core::incarnation{static_cast<std::uint64_t>(100 + index)};
      e.spec.host = std::move(host);
      e.spec.pid = static_cast<std::uint32_t>(70 + index);
      e.spec.slots = 2;
      h.apply(e);
    });
    return id;
  }
  void run(std::int64_t index, core::duration took, std::size_t times) {
    core_engine().run([&](server::hub& h) {
      for (std::size_t i = 0; i < times; ++i) {
        core::span_view s;
        s.started = h.now() - took;
        s.lasted = s.busy = took;
        h.past().restore({{"worker", index}, {"f", {}, {}, false}, s});
      }
    });
  }

  std::vector<std::unique_ptr<server::hub_worker>> sinks;
};

TEST_F(rest_hosts, list_each_host_once_with_its_workers) {
  auto const first = attach(0, "b");
  attach(1, "a");
  attach(2, "b");
  core_engine().run([&](server::hub& h) {
    machine m;
    m.host = "b";
    m.cpu = 1.5, m.cpus = 4;
    m.memory_users = {{70, "python", 900}};
    h.report(first, m);
  });
  auto const body = get_json("/api/v1/hosts");
  auto const& all = body.at("hosts").as_array();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(text_at(all[0], "/host"), "a");
  EXPECT_FALSE(all[0].as_object().contains("machine"));
  EXPECT_EQ(text_at(all[1], "/host"), "b");
  EXPECT_EQ(all[1].at_pointer("/machine/cpu"), 1.5);
  ASSERT_EQ(all[1].at("workers").as_array().size(), 2u);
  auto const& w = all[1].at_pointer("/workers/0");
  EXPECT_EQ(text_at(w, "/task"), "worker:0");
  EXPECT_EQ(text_at(w, "/state"), "CONNECTED");
  EXPECT_EQ(number_at(w, "/slots"), 2);
  EXPECT_EQ(number_at(w, "/pid"), 70);
  EXPECT_EQ(number_at(w, "/process_memory_bytes"), 900);
  EXPECT_EQ(number_at(w, "/value_bytes"), 0);
  EXPECT_EQ(number_at(w, "/failed_last_hour"), 0);
  EXPECT_FALSE(w.as_object().contains("slowness"));
  auto const& other = all[1].at_pointer("/workers/1").as_object();
  EXPECT_FALSE(other.contains("process_memory_bytes"));
}

TEST_F(rest_hosts, show_memory_traffic_and_gpus) {
  auto const stream = attach(0, "b");
  core_engine().run([&](server::hub& h) {
    machine m;
    m.host = "b";
    m.memory = 5'000, m.memory_total = 10'000;
    m.received = 1, m.sent = 2, m.read = 3, m.written = 4;
    m.gpus = {{"H100", 0.5, 20, 80}};
    h.report(stream, m);
  });
  auto const m = get_json("/api/v1/hosts").at_pointer("/hosts/0/machine");
  EXPECT_EQ(number_at(m, "/memory_bytes"), 5'000);
  EXPECT_EQ(number_at(m, "/memory_total_bytes"), 10'000);
  EXPECT_EQ(number_at(m, "/received_per_s"), 1);
  EXPECT_EQ(number_at(m, "/sent_per_s"), 2);
  EXPECT_EQ(number_at(m, "/read_per_s"), 3);
  EXPECT_EQ(number_at(m, "/written_per_s"), 4);
  EXPECT_EQ(text_at(m, "/gpus/0/name"), "H100");
  EXPECT_EQ(m.at_pointer("/gpus/0/busy"), 0.5);
  EXPECT_EQ(number_at(m, "/gpus/0/memory_bytes"), 20);
  EXPECT_EQ(number_at(m, "/gpus/0/memory_total_bytes"), 80);
}

TEST_F(rest_hosts, are_filtered_and_sent_in_pages) {
  attach(0, "a");
  attach(1, "b");
  attach(2, "c");
  EXPECT_EQ(get_json("/api/v1/hosts?host=b").at("hosts").as_array().size(), 1u);
  auto const one = get_json("/api/v1/hosts?task=worker:2");
  ASSERT_EQ(one.at("hosts").as_array().size(), 1u);
  EXPECT_EQ(text_at(one, "/hosts/0/host"), "c");
  EXPECT_EQ(get_json("/api/v1/hosts?host=x").at("hosts").as_array().size(), 0u);
  EXPECT_EQ(get_json("/api/v1/hosts?cluster=default").at("hosts").as_array().size(), 3u);
  EXPECT_EQ(get("/api/v1/hosts?cluster=none").status, 404u);
  EXPECT_EQ(text_at(get_json("/api/v1/hosts?limit=1001", 400), "/field"), "limit");
  EXPECT_EQ(text_at(get_json("/api/v1/hosts?page_token=m0", 400), "/field"), "page_token");
  auto const first = get_json("/api/v1/hosts?limit=2");
  EXPECT_EQ(first.at("hosts").as_array().size(), 2u);
  auto const token = text_at(first, "/next_page_token");
  auto const second = get_json("/api/v1/hosts?limit=2&page_token=" + token);
  EXPECT_EQ(text_at(second, "/hosts/0/host"), "c");
  EXPECT_FALSE(second.as_object().contains("next_page_token"));
}

TEST_F(rest_hosts, name_slow_workers) {
  for (std::int64_t i = 0; i < 3; ++i) attach(i, "a");
  run(0, std::chrono::milliseconds(100), 3);
  run(1, std::chrono::milliseconds(100), 3);
  run(2, std::chrono::milliseconds(210), 3);
  auto const body = get_json("/api/v1/hosts");
  auto const& workers = body.at_pointer("/hosts/0/workers");
  EXPECT_NEAR(workers.at_pointer("/2/slowness").to_number<double>(), 2.1, 0.01);
  EXPECT_NEAR(workers.at_pointer("/0/slowness").to_number<double>(), 1, 0.01);
  EXPECT_EQ(number_at(workers, "/2/slow_since_ms") % 60'000, 0);
  EXPECT_FALSE(workers.at_pointer("/0").as_object().contains("slow_since_ms"));
  auto const hour = get_json("/api/v1/clusters/default/tasks/worker/2/history");
  EXPECT_NEAR(hour.at("slowness_now").to_number<double>(), 2.1, 0.01);
  EXPECT_EQ(number_at(hour, "/slow_since_ms"), number_at(workers, "/2/slow_since_ms"));
  auto const& ratios = hour.at("slowness").as_array();
  ASSERT_EQ(ratios.size(), hour.at("t").as_array().size());
  EXPECT_TRUE(ratios.front().is_null());
}

TEST_F(rest_hosts, end_a_page_before_too_many_workers) {
  std::int64_t const many = 1'005;
  for (std::int64_t i = 0; i < many; ++i) attach(i, "b");
  attach(many, "a");
  attach(many + 1, "c");
  auto const first = get_json("/api/v1/hosts");
  ASSERT_EQ(first.at("hosts").as_array().size(), 1u) << "b has too many workers for this page";
  auto const token = text_at(first, "/next_page_token");
  auto const second = get_json("/api/v1/hosts?page_token=" + token);
  ASSERT_EQ(second.at("hosts").as_array().size(), 1u);
  EXPECT_EQ(second.at_pointer("/hosts/0/workers").as_array().size(), 1'000u);
  EXPECT_EQ(number_at(second, "/hosts/0/more_workers"), 5);
  EXPECT_TRUE(second.as_object().contains("next_page_token"));
}

}  // namespace host_cases
}  // namespace muster::web::test
