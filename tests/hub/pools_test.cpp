#include "server/hub/pools.hpp"

#include <gtest/gtest.h>

#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "tests/support/hub_sinks.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using core::coordination::cluster_id;

constexpr cluster_id the_main{1}, train{2};

struct pools_test : testing::Test {
  core::time_point clock{1s};
  core::server_wide wide{clock};
  std::vector<core::value_move> moved;
  int room_asked = 0;
  core::config limits = [] {
    core::config c;
    c.value_bytes_max = 1000;
    return c;
  }();
  hub main{limits, dependencies_of_hub({&wide, 0, [this] { ++room_asked; }})};
  pools all{main, wide, dependencies_of_pools()};

  hub_dependencies dependencies_of_hub(pool_dependencies pool) {
    hub_dependencies e;
    e.now = [this] { return clock; };
    e.arm = [](core::time_point) {};
    e.pool = std::move(pool);
    e.move_values = [this](std::vector<core::value_move> moves) {
      moved.insert(moved.end(), moves.begin(), moves.end());
    };
    return e;
  }
  pools_dependencies dependencies_of_pools() {
    return {.find = [](std::string_view name) -> muster::result<cluster_id> {
              if (name == "main") return the_main;
              if (name == "train") return train;
              return muster::status{muster::code::not_found, "no"};
            },
            .main = [] { return the_main; },
            .make =
                [this](cluster_id c, pool_dependencies pool) {
                  auto config = limits;
                  config.spill = c == train;
                  config.spill_above = 10;
                  config.spill_value_bytes_min = 1;
                  return std::make_shared<hub>(config, dependencies_of_hub(std::move(pool)));
                }};
  }
  core::session_reply open(hub& h) {
    core::open_session e;
    e.closures.push_back({h.learn({"f"}).ids.at(0), 0, 0, core::blob("[]")});
    auto const answer = h.ask_now(std::move(e));
    return std::get<core::session_reply>(answer.body);
  }
};

TEST_F(pools_test, cluster_is_found_by_name_and_main_is_the_default) {
  EXPECT_EQ(*all.named(""), &main);
  EXPECT_EQ(*all.named("main"), &main);
  EXPECT_EQ(*all.named("default"), &main) << "as long as no cluster has this name";
  EXPECT_EQ(all.existing(train), nullptr);
  auto* const of_train = *all.named("train");
  EXPECT_NE(of_train, &main);
  EXPECT_EQ(*all.named("train"), of_train);
  EXPECT_EQ(all.existing(train), of_train);
  EXPECT_EQ(all.named("moon").error().code, muster::code::not_found);
}

TEST_F(pools_test, workers_receive_no_work_of_another_cluster) {
  auto& of_train = **all.named("train");
  hub_worker there, here;
  there.attach(of_train);
  EXPECT_EQ(open(main).closures.size(), 1u);
  EXPECT_TRUE(there.held.empty());
  here.attach(main);
  EXPECT_EQ(here.held.size(), 1u);
  EXPECT_EQ(here.index, 0);
  EXPECT_EQ(there.index, 0) << "names are per cluster";
}

TEST_F(pools_test, sessions_and_closures_are_found_by_id) {
  auto& of_train = **all.named("train");
  auto const mine = open(of_train), other = open(main);
  EXPECT_EQ(&all.of(mine.session), &of_train);
  EXPECT_EQ(&all.of(mine.closures.at(0)), &of_train);
  EXPECT_EQ(&all.of(other.session), &main);
  EXPECT_EQ(&all.of(other.closures.at(0)), &main);
  EXPECT_EQ(&all.of(core::session_id{999}), &main) << "main reports that there is none";
  of_train.apply(core::cancel_session{{}, mine.session});
  of_train.apply(core::delete_session{{}, mine.session});
  EXPECT_EQ(&all.of(mine.session), &of_train) << "remembered for a while";
}

TEST_F(pools_test, an_input_of_another_cluster_is_refused) {
  auto& of_train = **all.named("train");
  auto const other = open(main);
  core::open_session e;
  auto extras = std::make_shared<core::closure_extras>();
  extras->inputs.push_back({other.closures.at(0), 0, 1});
  e.closures.push_back({of_train.learn({"f"}).ids.at(0), 0, 0, core::blob("[]"), extras});
  auto const answer = of_train.ask_now(std::move(e));
  EXPECT_EQ(answer.status.code, muster::code::not_found);
}

TEST_F(pools_test, disconnected_caller_is_removed_from_its_cluster) {
  auto& of_train = **all.named("train");
  auto const job = open(of_train);
  int answers = 0;
  auto const call =
      of_train.ask(core::join_session{{}, job.session}, [&](core::reply const&) { ++answers; });
  auto const unlike =
      main.ask(core::join_session{{}, open(main).session}, [&](core::reply const&) { ++answers; });
  EXPECT_NE(call, unlike);
  all.forget(call);
  EXPECT_EQ(of_train.state().overview(clock).parked_calls, 0u);
  EXPECT_EQ(main.state().overview(clock).parked_calls, 1u);
  EXPECT_EQ(answers, 0);
}

TEST_F(pools_test, removed_cluster_ends_its_own_work_only) {
  auto& of_train = **all.named("train");
  hub_worker w, other;
  recording_session s;
  w.attach(of_train);
  other.attach(main);
  auto const job = open(of_train);
  of_train.attach(job.session, s);
  std::string told;
  of_train.ask(core::join_session{{}, job.session},
               [&](core::reply const& r) { told = r.status.message; });
  core::submit_program program;
  program.spec.command = {"true"};
  program.spec.tasks.push_back({});
  of_train.ask(std::move(program), [](auto const&) {});
  EXPECT_EQ(all.in_use(train), "1 worker and 1 unfinished job or session and 1 unfinished program");
  all.remove(train, "gone");
  EXPECT_EQ(told, "gone");
  EXPECT_EQ(w.ended.message, "gone");
  EXPECT_TRUE(w.final);
  EXPECT_EQ(s.gone, "gone");
  EXPECT_TRUE(other.ended.ok());
  EXPECT_EQ(all.existing(train), nullptr);
  EXPECT_EQ(all.in_use(train), "");
  EXPECT_EQ(&all.of(job.session), &main);
  auto& again = **all.named("train");
  EXPECT_EQ(again.state().workers().connected(), 0u);
  EXPECT_NE(open(again).closures, job.closures) << "ids are never reused";
}

TEST_F(pools_test, spilled_values_are_removed_with_their_cluster) {
  auto& of_train = **all.named("train");
  hub_worker w;
  w.attach(of_train);
  auto const job = open(of_train);
  w.succeed(of_train, std::string(50, '1'));
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved.at(0).kind, core::move_kind::write);
  all.moved({{{core::move_kind::write, job.closures.at(0), true, {}, {}}}});
  EXPECT_EQ(of_train.state().overview(clock).values_spilled, 1u);
  all.remove(train, "gone");
  ASSERT_EQ(moved.size(), 2u);
  EXPECT_EQ(moved.at(1).kind, core::move_kind::forget);
  EXPECT_EQ(wide.spilled_bytes.used(), 0u);
  all.moved({{{core::move_kind::write, job.closures.at(0), true, {}, {}}}});  // too late: ignored
}

TEST_F(pools_test, cluster_above_its_share_frees_space_for_another) {
  auto& of_train = **all.named("train");
  hub_worker here, there;
  here.attach(main);
  there.attach(of_train);
  std::string const large(450, '1');
  for (int i = 0; i < 2; ++i) {
    open(main);
    here.succeed(main, large);
  }
  EXPECT_EQ(room_asked, 0);
  auto const mine = open(of_train);
  limits.spill = false;
  there.succeed(of_train, large);
  EXPECT_GT(wide.value_bytes.used(), 1000u);
  all.make_room();
  EXPECT_LE(wide.value_bytes.used(), 1000u);
  EXPECT_TRUE(of_train.state().sessions().find(mine.session));
}

TEST_F(pools_test, log_lines_of_all_clusters_share_one_limit) {
  auto const whole = main.logs().limits().bytes_max;
  auto& of_train = **all.named("train");
  EXPECT_EQ(main.logs().limits().bytes_max, whole / 2);
  EXPECT_EQ(of_train.logs().limits().bytes_max, whole / 2);
  all.remove(train, "gone");
  EXPECT_EQ(main.logs().limits().bytes_max, whole);
}

TEST_F(pools_test, stopping_server_creates_no_clusters) {
  all.stop();
  EXPECT_EQ(all.named("train").error().code, muster::code::unavailable);
}

}  // namespace
}  // namespace muster::server
