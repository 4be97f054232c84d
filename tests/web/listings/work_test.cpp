// The list of jobs, sessions and programs: filters, facets, order and pages.
#include <set>

#include "server/core/api/id_text.hpp"
#include "tests/web/rest/program_fixture.hpp"
#include "web/rest/work/work_selection.hpp"

namespace muster::web::test {
namespace work_cases {

class work_list : public web_fixture {
 protected:
  std::string job(std::string const& name, std::string const& more = {}) {
    return text_at(post_json("/api/v1/jobs",
                             R"({"name":")" + name +
                                 R"(","closures":[{"function":"muster.echo"}])" + more + "}",
                             201),
                   "/id");
  }
  std::string program(std::string const& name, std::string const& more = {}) {
    return text_at(post_json("/api/v1/programs",
                             R"({"name":")" + name +
                                 R"(","command":["true"],"tasks":{"worker":1})" + more + "}",
                             201),
                   "/id");
  }
  std::string session(std::string const& name) {
    return core::text(core_engine().run([name](server::hub& h) {
      core::open_session e;
      e.spec.name = name;
      e.spec.delivery = core::delivery::stream;
      return std::get<core::session_reply>(h.ask_now(std::move(e)).body).session;
    }));
  }
  json::value work(std::string const& query = {}) { return get_json("/api/v1/work?" + query); }
  std::vector<std::string> names(std::string const& query = {}) {
    std::vector<std::string> out;
    auto const page = work(query);
    for (auto const& r : page.at("runs").as_array()) out.push_back(text_at(r, "/name"));
    return out;
  }
  static std::int64_t facet(json::value const& page, std::string const& name,
                            std::string const& value) {
    for (auto const& one : page.at("facets").at(name).as_array())
      if (text_at(one, "/value") == value) return number_at(one, "/runs");
    return 0;
  }
};
using texts = std::vector<std::string>;

TEST_F(work_list, shows_jobs_sessions_and_programs_newest_first) {
  start();
  auto const id = job("first");
  session("second");
  program("third");
  auto const page = work();
  ASSERT_EQ(names(), (texts{"third", "second", "first"}));
  EXPECT_EQ(number_at(page, "/matching"), 3);
  EXPECT_EQ(number_at(page, "/of"), 3);
  auto const& [p, s, j] =
      std::tie(page.at("runs").at(0), page.at("runs").at(1), page.at("runs").at(2));
  EXPECT_EQ(text_at(p, "/kind"), "program");
  EXPECT_EQ(text_at(p, "/state"), "PENDING");
  EXPECT_EQ(number_at(p, "/counts/total"), 1);
  EXPECT_EQ(number_at(p, "/wanted_ranks/max"), 1);
  EXPECT_FALSE(p.as_object().contains("values"));
  EXPECT_EQ(text_at(s, "/kind"), "session");
  EXPECT_EQ(number_at(s, "/value_bytes"), 0);
  EXPECT_EQ(text_at(j, "/kind"), "job");
  EXPECT_EQ(text_at(j, "/id"), id);
  EXPECT_EQ(number_at(j, "/counts/total"), 1);
  EXPECT_FALSE(j.as_object().contains("ended_ms"));
  EXPECT_FALSE(j.as_object().contains("wanted_ranks"));
  for (auto const* kind : {"job", "session", "program"}) EXPECT_EQ(facet(page, "kinds", kind), 1);
}

TEST_F(work_list, shows_the_end_and_the_first_error) {
  start();
  auto& w = add_worker(worker::habit::hold, 0, 1);
  auto const id = job("broken");
  w.fail_all("Disk full");
  auto const r = work("state=FAILED").at("runs").at(0);
  EXPECT_EQ(text_at(r, "/id"), id);
  EXPECT_EQ(text_at(r, "/state"), "FAILED");
  EXPECT_EQ(number_at(r, "/counts/failed"), 1);
  EXPECT_EQ(r.at("ended_share").to_number<double>(), 1.0);
  EXPECT_TRUE(contains(text_at(r, "/error"), "Disk full"));
  EXPECT_EQ(number_at(r, "/duration_ms"), number_at(r, "/ended_ms") - number_at(r, "/created_ms"));
  EXPECT_TRUE(r.at("retryable").as_bool());
  w.fail_all("x");
  job("long");
  w.fail_all(std::string(2000, 'x'));
  EXPECT_LE(text_at(work("q=long").at("runs").at(0), "/error").size(), 310u);
}

TEST_F(work_list, shows_a_cancelled_job_with_running_closures_as_stopping) {
  start();
  add_worker(worker::habit::hold, 0, 1);
  auto const id = job("long");
  EXPECT_FALSE(work().at("runs").at(0).as_object().contains("stopping"));
  post_json("/api/v1/jobs/" + id + "/cancel", "");
  EXPECT_EQ(work().at("runs").at(0).at("stopping"), true);
}

TEST_F(work_list, shows_of_which_job_a_job_is_the_retry) {
  start();
  auto& w = add_worker(worker::habit::hold, 0, 1);
  auto const id = job("broken");
  w.fail_all("Disk full");
  post_json("/api/v1/jobs/" + id + "/retry", "", 201);
  EXPECT_EQ(text_at(work().at("runs").at(0), "/retry_of"), id);
}

TEST_F(work_list, shows_the_client_of_a_session_and_until_when_it_is_kept) {
  start();
  core_engine().run([](server::hub& h) {
    core::open_session e;
    e.client = "ipv4:10.0.0.7:51234";
    e.spec.delivery = core::delivery::unary;
    h.ask(std::move(e), [](core::reply const& r) { EXPECT_TRUE(r.status.ok()); });
  });
  auto const s = work().at("runs").at(0);
  EXPECT_EQ(text_at(s, "/client"), "ipv4:10.0.0.7:51234");
  EXPECT_FALSE(s.at_pointer("/holding/attached").as_bool());
  EXPECT_FALSE(s.at_pointer("/holding/detached").as_bool());
  EXPECT_GT(number_at(s, "/holding/kept_until_ms"), number_at(s, "/created_ms"));
}

TEST_F(work_list, is_filtered_by_kind_state_label_time_and_text) {
  start();
  job("etl-1", R"(,"metadata":{"team":"ml","tries":3})");
  job("etl-2", R"(,"metadata":{"team":"web"})");
  session("notebook");
  auto const cancelled = program("train", R"(,"metadata":{"team":"ml"})");
  post_json("/api/v1/programs/" + cancelled + "/cancel", "", 200);
  EXPECT_EQ(names("kind=program"), texts{"train"});
  EXPECT_EQ(names("kind=session,job&order=asc"), (texts{"etl-1", "etl-2", "notebook"}));
  EXPECT_EQ(names("state=CANCELLED"), texts{"train"});
  EXPECT_EQ(names("state=UNFINISHED&kind=job"), (texts{"etl-2", "etl-1"}));
  EXPECT_EQ(names("state=QUEUED,CANCELLED").size(), 3u);
  EXPECT_EQ(names("label=team=ml"), (texts{"train", "etl-1"}));
  EXPECT_EQ(names("label=team"), (texts{"train", "etl-2", "etl-1"}));
  EXPECT_EQ(names("label=team=ml,tries=3"), texts{"etl-1"});
  EXPECT_EQ(names("q=ETL"), (texts{"etl-2", "etl-1"}));
  EXPECT_EQ(names("q=" + cancelled), texts{"train"});
  auto const created = number_at(work("q=etl-2").at("runs").at(0), "/created_ms");
  EXPECT_EQ(names("q=etl-2&since_ms=" + std::to_string(created)), texts{"etl-2"});
  EXPECT_EQ(names("since_ms=" + std::to_string(created + 3'600'000)), texts{});
  EXPECT_EQ(names("until_ms=" + std::to_string(created - 3'600'000)), texts{});
  EXPECT_EQ(work("q=nothing").at("matching"), 0);
}

TEST_F(work_list, facet_ignores_its_own_filter) {
  start();
  job("a", R"(,"metadata":{"team":"ml"})");
  job("b");
  program("c", R"(,"metadata":{"team":"ml"})");
  auto const page = work("kind=job&label=team=ml");
  EXPECT_EQ(number_at(page, "/matching"), 1);
  EXPECT_EQ(facet(page, "kinds", "job"), 1);
  EXPECT_EQ(facet(page, "kinds", "program"), 1);
  EXPECT_EQ(facet(page, "states", "PENDING"), 0);
  EXPECT_EQ(facet(page, "states", "QUEUED"), 1);
  EXPECT_EQ(facet(page, "users", "-"), 1);
  EXPECT_EQ(facet(page, "labels", "team=ml"), 1);
}

TEST_F(work_list, is_filtered_by_user) {
  start_guarded();
  auto const ann = make_token(core::role::submitter), bob = make_token(core::role::submitter);
  std::string const echo = R"({"closures":[{"function":"muster.echo"}]})";
  for (auto const& who : {ann, ann, bob})
    EXPECT_EQ(send_as(who, "POST", "/api/v1/jobs", echo).status, 201u);
  auto const page = json::parse(send_as(ann, "GET", "/api/v1/work").body);
  ASSERT_EQ(page.at("facets").at("users").as_array().size(), 2u);
  auto const first = text_at(page, "/facets/users/0/value");
  EXPECT_EQ(number_at(page, "/facets/users/0/runs"), 2);
  auto const of_ann = json::parse(send_as(ann, "GET", "/api/v1/work?user=" + first).body);
  EXPECT_EQ(number_at(of_ann, "/matching"), 2);
  for (auto const& r : of_ann.at("runs").as_array()) EXPECT_EQ(text_at(r, "/submitted_by"), first);
  EXPECT_EQ(number_at(of_ann, "/facets/users/1/runs"), 1);
  EXPECT_EQ(number_at(json::parse(send_as(ann, "GET", "/api/v1/work?user=-").body), "/matching"),
            0);
}

TEST_F(work_list, pages_contain_each_run_once_while_runs_are_added) {
  start();
  for (int i = 0; i < 12; ++i)
    i % 3 == 0 ? program("p" + std::to_string(i)) : job("j" + std::to_string(i));
  for (auto const* order :
       {"sort=created", "sort=created&order=asc", "sort=name", "sort=name&order=asc", "sort=failed",
        "sort=ended", "sort=ended&order=asc"}) {
    std::multiset<std::string> seen;
    std::string token;
    do {
      auto const page = work(std::string(order) + "&limit=5&q=&page_token=" + token);
      for (auto const& r : page.at("runs").as_array()) seen.insert(text_at(r, "/name"));
      auto const* next = page.as_object().if_contains("next_page_token");
      token = next ? std::string(next->as_string()) : std::string();
      job("later");
    } while (!token.empty() && seen.size() < 200);
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(seen.count((i % 3 == 0 ? "p" : "j") + std::to_string(i)), 1u) << order << ' ' << i;
  }
}

TEST_F(work_list, names_are_sorted) {
  start();
  for (auto const* n : {"b", "C", "a"}) job(n);
  EXPECT_EQ(names("sort=name&order=asc"), (texts{"a", "b", "C"}));
  EXPECT_EQ(names("sort=name"), (texts{"C", "b", "a"}));
}

TEST_F(work_list, invalid_query_names_the_field) {
  start();
  job("a"), job("b");
  auto const token = text_at(work("limit=1"), "/next_page_token");
  std::string many = "x";
  for (int i = 0; i < 100; ++i) many += ",x";
  for (auto const& [field, query] : std::vector<std::pair<std::string, std::string>>{
           {"kind", "kind=task"},
           {"kind", "kind=job,task"},
           {"state", "state=LOST"},
           {"user", "user=" + many},
           {"label", "label=" + many},
           {"since_ms", "since_ms=yesterday"},
           {"sort", "sort=color"},
           {"order", "order=up"},
           {"limit", "limit=1001"},
           {"page_token", "page_token=w00"},
           {"page_token", "page_token=x"},
           {"page_token", "sort=name&page_token=" + token}}) {
    auto const r = get("/api/v1/work?" + query);
    EXPECT_EQ(r.status, 400u) << query;
    EXPECT_EQ(text_at(json::parse(r.body), "/field"), field) << query;
  }
  EXPECT_EQ(get("/api/v1/work?cluster=none").status, 404u);
  EXPECT_EQ(text_at(get_json("/api/v1/work?since_ms=2&until_ms=1", 422), "/field"), "until_ms");
}

TEST(work_labels, are_the_texts_numbers_and_booleans_of_the_metadata) {
  EXPECT_EQ(
      labels_of(R"({"team":"ml","n":3,"on":true,"list":[1],"of":{"a":1},"none":null,"a,b":1})"),
      (texts{"n=3", "on=true", "team=ml"}));
  EXPECT_EQ(labels_of(""), texts{});
  EXPECT_EQ(labels_of("not JSON"), texts{});
  EXPECT_EQ(labels_of("[1]"), texts{});
}

}  // namespace work_cases
}  // namespace muster::web::test
