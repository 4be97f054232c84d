#include <gtest/gtest.h>

#include <set>

#include "web/http/query.hpp"
#include "web/server/dispatch.hpp"

namespace muster::web {
namespace {

std::vector<route> const& table() {
  static auto const all = all_routes();
  return all;
}

matched_route find(std::string_view method, std::string_view path) {
  return find_route(table(), method, path);
}

TEST(router, finds_a_route_and_its_parameters) {
  auto const m = find("GET", "/api/v1/clusters/default/tasks/worker/3");
  ASSERT_TRUE(m.found);
  EXPECT_EQ(m.found->id, "getTask");
  ASSERT_EQ(m.captures.size(), 3u);
  EXPECT_EQ(m.captures[1].first, "job");
  EXPECT_EQ(m.captures[1].second, "worker");
  EXPECT_EQ(m.captures[2].second, "3");
}

TEST(router, parameters_are_unescaped) {
  auto const m = find("GET", "/api/v1/clusters/a%20b%2Fc");
  ASSERT_TRUE(m.found);
  EXPECT_EQ(m.captures[0].second, "a b/c");
}

TEST(router, a_trailing_slash_makes_no_difference) {
  EXPECT_TRUE(find("GET", "/api/v1/jobs/").found);
  EXPECT_FALSE(find("GET", "/api/v1/jobs//").found);
}

TEST(router, head_finds_the_get_route) {
  EXPECT_EQ(find("HEAD", "/livez").found, find("GET", "/livez").found);
}

TEST(router, wrong_method_of_a_known_path_lists_the_allowed_ones) {
  auto const m = find("PUT", "/api/v1/jobs");
  EXPECT_FALSE(m.found);
  EXPECT_EQ(m.allow, "POST, GET, HEAD, OPTIONS");
}

TEST(router, unknown_and_malformed_paths_match_nothing) {
  for (auto const* path :
       {"", "/", "/api/v1/nope", "/api/v1/jobs/x/y/z", "/api/v1/jobs/%zz", "/api/v1/jobs/%00",
        "api/v1/jobs", "//api/v1/jobs", "/api/v1/jobs//join"}) {
    auto const m = find("GET", path);
    EXPECT_FALSE(m.found) << path;
    EXPECT_TRUE(m.allow.empty()) << path;
  }
}

TEST(router, operation_names_are_unique) {
  std::set<std::string_view> names;
  for (auto const& r : table()) EXPECT_TRUE(names.insert(r.id).second) << r.id;
}

TEST(query, parameters_are_split_and_unescaped) {
  request r;
  EXPECT_FALSE(parse_query("a=1&b=x%20y+z&c&&d=", r));
  EXPECT_EQ(r.parameter("a"), "1");
  EXPECT_EQ(r.parameter("b"), "x y z");
  EXPECT_EQ(r.parameter("c"), "");
  EXPECT_EQ(r.query.size(), 4u);
}

TEST(query, malformed_and_repeated_parameters_are_refused) {
  for (auto const* bad : {"a=%", "a=1&a=2", "%zz=1"}) {
    request r;
    EXPECT_TRUE(parse_query(bad, r)) << bad;
  }
  request r;
  std::string many;
  for (int i = 0; i < 40; ++i) many += "p" + std::to_string(i) + "=1&";
  auto const p = parse_query(many, r);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->limit, "32 parameters");
}

TEST(query, a_page_token_belongs_to_its_listing) {
  request r;
  r.query.emplace_back("page_token", page_token('j', 77));
  query_check jobs(r);
  EXPECT_EQ(jobs.page_token('j'), 77u);
  EXPECT_FALSE(jobs.failed());
  query_check tasks(r);
  tasks.page_token('t');
  EXPECT_TRUE(tasks.failed());
}

TEST(query, limits_and_timeouts_have_bounds) {
  request r;
  r.query = {{"limit", "1001"}, {"timeout", "1h"}};
  query_check q(r);
  EXPECT_EQ(q.timeout(), wait_max);
  EXPECT_FALSE(q.failed());
  q.limit();
  ASSERT_TRUE(q.failed());
  EXPECT_EQ(q.failure().field, "limit");
  request const plain;
  EXPECT_EQ(query_check(plain).timeout(), wait_default);
}

}  // namespace
}  // namespace muster::web
