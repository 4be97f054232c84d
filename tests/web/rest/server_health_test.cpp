#include <future>

#include "server/disk/sync_times.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

constexpr std::int64_t second_us = 1'000'000;

double decimal_at(json::value const& v, std::string_view part, std::string_view name) {
  return v.at(part).at(name).to_number<double>();
}

class server_health : public web_fixture {
 protected:
  json::value health() { return get_json("/api/v1/server/health"); }

  /// Waits until `condition(health)` is true, and returns the answer.
  template <class Condition>
  json::value health_when(Condition const& condition) {
    json::value seen;
    EXPECT_TRUE(eventually([&] { return condition(seen = health()); })) << json::serialize(seen);
    return seen;
  }

  /// Blocks the engine until the returned promise is set.
  std::shared_ptr<std::promise<void>> block() {
    auto go_on = std::make_shared<std::promise<void>>();
    core_engine().post([wait = go_on->get_future().share()](server::hub&) { wait.wait(); });
    return go_on;
  }
};

TEST_F(server_health, shows_process_and_engine_in_their_units) {
  start();
  submit(10);
  auto const seen = health_when([](auto const& h) {
    return number_at(h, "/engine/lag_p50_us") > 0 && decimal_at(h, "process", "busy_cores") > 0;
  });
  EXPECT_FALSE(text_at(seen, "/version").empty());
  EXPECT_EQ(number_at(seen, "/window_ms"), 60'000);
  EXPECT_GE(number_at(seen, "/uptime_ms"), 0);
  EXPECT_LT(number_at(seen, "/uptime_ms"), 60'000);
  EXPECT_TRUE(seen.at("engine").at("responding").as_bool());
  EXPECT_LE(number_at(seen, "/engine/lag_p50_us"), number_at(seen, "/engine/lag_p99_us"));
  EXPECT_LE(number_at(seen, "/engine/lag_p99_us"), number_at(seen, "/engine/lag_max_us"));
  EXPECT_LT(number_at(seen, "/engine/lag_p50_us"), second_us);
  EXPECT_EQ(number_at(seen, "/queue/calls"), 10);
  EXPECT_EQ(number_at(seen, "/queue/changes"), 0);
  EXPECT_GT(number_at(seen, "/process/resident_bytes"), 1 << 20);
  EXPECT_LT(number_at(seen, "/process/resident_bytes"), number_at(seen, "/process/memory_bytes"));
  EXPECT_GT(decimal_at(seen, "process", "cores"), 0);
  EXPECT_LT(decimal_at(seen, "process", "busy_cores"), 1000);
  EXPECT_GT(number_at(seen, "/process/open_files"), 3);
  EXPECT_GT(number_at(seen, "/process/open_files_max"), 3);
  EXPECT_FALSE(seen.as_object().contains("disk"));
  EXPECT_FALSE(seen.as_object().contains("history"));
}

TEST_F(server_health, lag_grows_while_the_engine_is_blocked) {
  start();
  health_when([](auto const& h) { return number_at(h, "/engine/lag_p50_us") > 0; });
  auto const go_on = block();
  auto const first =
      health_when([](auto const& h) { return number_at(h, "/engine/lag_now_us") > second_us; });
  EXPECT_FALSE(first.at("engine").at("responding").as_bool());
  EXPECT_GE(number_at(first, "/engine/lag_max_us"), second_us);
  EXPECT_FALSE(first.as_object().contains("queue"));
  auto const later = health();
  EXPECT_GT(number_at(later, "/engine/lag_now_us"), number_at(first, "/engine/lag_now_us"));
  go_on->set_value();
  auto const after =
      health_when([](auto const& h) { return number_at(h, "/engine/lag_now_us") < second_us; });
  EXPECT_TRUE(after.at("engine").at("responding").as_bool());
  EXPECT_GE(number_at(after, "/engine/lag_max_us"), second_us);
  // The blocked second counts as one probe for each interval that it lasted.
  EXPECT_GE(number_at(after, "/engine/lag_p99_us"), second_us / 2);
  EXPECT_NE(get("/metrics").body.find("\nmuster_engine_lag_seconds_bucket{le=\"+Inf\"} "),
            std::string::npos);
}

TEST_F(server_health, shows_the_disk_and_lost_history) {
  core::coordination::limits limits;
  limits.journalled = limits.outlives = true;
  start({}, {}, 2, limits);
  auto const before = number_at(health(), "/disk/syncs");
  for (int i = 0; i < 99; ++i) server::sync_times().add(std::chrono::milliseconds(2));
  server::sync_times().add(std::chrono::milliseconds(80));
  auto const seen = health();
  EXPECT_EQ(number_at(seen, "/disk/syncs") - before, 100);
  EXPECT_EQ(number_at(seen, "/disk/sync_p50_us"), 2'000);
  EXPECT_EQ(number_at(seen, "/disk/sync_p99_us"), 2'000);
  EXPECT_EQ(number_at(seen, "/disk/sync_max_us"), 80'000);
  EXPECT_EQ(number_at(seen, "/disk/waiting_bytes"), 0);
  EXPECT_EQ(number_at(seen, "/history/bytes"), 8'192);
  EXPECT_EQ(number_at(seen, "/history/dropped"), 3);
  EXPECT_EQ(number_at(seen, "/history/unreadable"), 1);
  EXPECT_NE(get("/metrics").body.find("\nmuster_journal_sync_seconds_bucket{le=\"0.065536\"} "),
            std::string::npos);
  core_engine().fill_disk();
  EXPECT_FALSE(text_at(health(), "/disk/full").empty());
  core_engine().fail_disk("the cable is loose");
  EXPECT_NE(text_at(health(), "/disk/failure").find("the cable is loose"), std::string::npos);
}

}  // namespace
}  // namespace muster::web::test
