// GET /api/v1/queue: order, numbers, pages and reasons of waiting work.
#include <set>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct queue : web_fixture {
  json::value submit_job(std::string const& closures, std::string const& name = "n") {
    return post_json("/api/v1/jobs", R"({"name":")" + name + R"(","closures":[)" + closures + "]}",
                     201);
  }
  static std::string closure(std::string const& function, std::string const& options = "{}") {
    return R"({"function":")" + function + R"(","options":)" + options + "}";
  }
  static std::string several(std::size_t n, std::string const& one) {
    std::string all;
    for (std::size_t i = 0; i < n; ++i) all += (i == 0 ? "" : ",") + one;
    return all;
  }
};

TEST_F(queue, is_empty_while_nothing_waits) {
  start();
  auto const all = get_json("/api/v1/queue");
  EXPECT_TRUE(all.at("queue").as_array().empty());
  EXPECT_EQ(number_at(all, "/entries"), 0);
  EXPECT_EQ(number_at(all, "/closures"), 0);
  EXPECT_TRUE(all.at("complete").as_bool());
}

TEST_F(queue, higher_priority_starts_first_and_unmet_needs_are_last) {
  start();
  add_worker(worker::habit::hold, 0, 1);
  submit_job(several(9, closure("muster.echo")), "fills");
  auto const early = submit_job(closure("muster.echo", R"({"labels":{"zone":"x"}})") + "," +
                                    closure("muster.echo") + "," +
                                    several(2, closure("muster.echo", R"({"priority":7})")),
                                "later");
  auto const all = get_json("/api/v1/queue");
  auto const& rows = all.at("queue").as_array();
  ASSERT_EQ(rows.size(), 3u) << all;
  EXPECT_EQ(number_at(all, "/queue/0/position"), 1);
  EXPECT_EQ(number_at(all, "/queue/1/position"), 2);
  EXPECT_EQ(number_at(all, "/queue/0/priority") + number_at(all, "/queue/1/priority"), 7);
  EXPECT_EQ(rows[2].as_object().if_contains("position"), nullptr) << "no worker has the label";
  EXPECT_EQ(text_at(all, "/queue/2/needs/labels/zone"), "x");
  EXPECT_EQ(text_at(all, "/queue/2/reason"), "UNSATISFIABLE");
  EXPECT_EQ(text_at(all, "/queue/2/why"),
            "of 1 worker with 'muster.echo', none has the label zone=x.");
  EXPECT_EQ(number_at(all, "/queue/2/workers"), 0);
  EXPECT_EQ(text_at(all, "/queue/2/first"), text_at(early, "/closures/0/id"));
  EXPECT_EQ(text_at(all, "/queue/2/jobs/0/name"), "later");
  EXPECT_EQ(number_at(all, "/closures") - number_at(all, "/closures_startable"), 1);
}

TEST_F(queue, names_ten_jobs_of_an_entry_and_counts_the_others) {
  start();
  for (int i = 0; i < 12; ++i) submit_job(closure("muster.echo"));
  auto const all = get_json("/api/v1/queue");
  ASSERT_EQ(all.at("queue").as_array().size(), 1u);
  EXPECT_EQ(all.at_pointer("/queue/0/jobs").as_array().size(), 10u);
  EXPECT_EQ(number_at(all, "/queue/0/jobs_more"), 2);
}

TEST_F(queue, names_the_task_that_an_entry_needs) {
  start();
  submit_job(closure("muster.echo", R"({"task":"worker:7"})"));
  EXPECT_EQ(text_at(get_json("/api/v1/queue"), "/queue/0/needs/task"), "worker:7");
}

TEST_F(queue, second_entry_of_a_job_comes_after_the_first_of_another) {
  start();
  add_worker(worker::habit::hold, 0, 1);
  submit_job(several(9, closure("muster.echo", R"({"priority":9})")), "fills");
  submit_job(closure("muster.echo", R"({"priority":3})") + "," +
                 closure("muster.echo", R"({"priority":2})"),
             "a");
  submit_job(closure("muster.echo", R"({"priority":1})"), "b");
  auto const all = get_json("/api/v1/queue");
  std::vector<std::int64_t> order;
  for (auto const& row : all.at("queue").as_array())
    if (text_at(row, "/jobs/0/name") != "fills") order.push_back(number_at(row, "/priority"));
  EXPECT_EQ(order, (std::vector<std::int64_t>{3, 1, 2})) << "jobs take turns";
}

TEST_F(queue, gang_counts_wanted_and_free_slots) {
  start();
  add_worker(worker::habit::hold, 0, 2);
  auto const job = submit_job(several(20, closure("muster.echo", R"({"gang":"g"})")));
  auto const all = get_json("/api/v1/queue");
  ASSERT_EQ(all.at("queue").as_array().size(), 1u);
  EXPECT_EQ(text_at(all, "/queue/0/kind"), "gang");
  EXPECT_EQ(text_at(all, "/queue/0/gang"), "g");
  EXPECT_EQ(number_at(all, "/queue/0/wanted"), 20);
  EXPECT_EQ(number_at(all, "/queue/0/ready"), 20);
  EXPECT_EQ(number_at(all, "/queue/0/free"), 2);
  EXPECT_EQ(number_at(all, "/queue/0/slots"), 2);
  EXPECT_EQ(number_at(all, "/queue/0/workers"), 1);
  EXPECT_EQ(number_at(all, "/queue/0/workers_free"), 1);
  EXPECT_EQ(text_at(all, "/queue/0/reason"), "GANG_TOO_LARGE");
  EXPECT_EQ(text_at(all, "/queue/0/job"), text_at(job, "/id"));
  EXPECT_EQ(text_at(all, "/queue/0/functions/0/name"), "muster.echo");
  EXPECT_EQ(number_at(all, "/queue/0/functions/0/waiting"), 20);
  EXPECT_EQ(all.at("queue").at(0).as_object().if_contains("position"), nullptr);
}

TEST_F(queue, pages_contain_each_entry_once) {
  start();
  for (int n = 0; n < 7; ++n)
    submit_job(closure("muster.echo", R"({"resources":{"gpu":)" + std::to_string(n + 1) + "}}"));
  std::set<std::string> seen;
  std::size_t pages = 0;
  for (std::string token; pages < 9;) {
    auto const page = get_json("/api/v1/queue?limit=3" + token);
    EXPECT_EQ(number_at(page, "/entries"), 7);
    EXPECT_LE(page.at("queue").as_array().size(), 3u);
    for (auto const& row : page.at("queue").as_array()) seen.insert(text_at(row, "/first"));
    ++pages;
    auto const* next = page.as_object().if_contains("next_page_token");
    if (!next) break;
    token = "&page_token=" + std::string(next->as_string());
  }
  EXPECT_EQ(pages, 3u);
  EXPECT_EQ(seen.size(), 7u);
}

TEST_F(queue, program_waits_with_the_number_of_ranks) {
  start();
  add_worker(worker::habit::hold, 0, 1);
  post_json("/api/v1/programs", R"({"name":"train","command":["true"],"tasks":{"worker":4}})", 201);
  submit_job(several(9, closure("muster.echo")));
  auto const all = get_json("/api/v1/queue");
  auto const& rows = all.at("queue").as_array();
  ASSERT_EQ(rows.size(), 2u) << all;
  EXPECT_EQ(text_at(all, "/queue/1/kind"), "program") << "a program that cannot start is last";
  EXPECT_EQ(text_at(all, "/queue/1/name"), "train");
  EXPECT_EQ(number_at(all, "/queue/1/wanted"), 4);
  EXPECT_EQ(text_at(all, "/queue/1/why"), "no worker that runs programs is connected");
  EXPECT_EQ(number_at(all, "/programs"), 1);
  EXPECT_EQ(number_at(all, "/entries"), 2);
  auto const first = get_json("/api/v1/queue?limit=1");
  auto const second =
      get_json("/api/v1/queue?limit=1&page_token=" + text_at(first, "/next_page_token"));
  EXPECT_EQ(text_at(second, "/queue/0/name"), "train");
}

TEST_F(queue, bad_parameters_are_refused) {
  start();
  EXPECT_EQ(get("/api/v1/queue?cluster=moon").status, 404u);
  auto const limit = get_json("/api/v1/queue?limit=0", 400);
  EXPECT_EQ(text_at(limit, "/field"), "limit");
  EXPECT_EQ(text_at(get_json("/api/v1/queue?limit=100000", 400), "/field"), "limit");
  EXPECT_EQ(text_at(get_json("/api/v1/queue?page_token=j7", 400), "/field"), "page_token");
}

}  // namespace
}  // namespace muster::web::test
