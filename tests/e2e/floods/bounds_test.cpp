#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cli/top/frame.hpp"
#include "tests/e2e/process.hpp"
#include "tests/support/http_service.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

// Returns a page with as many elements as requested, and a token for one more page.
test::http_reply page(test::http_seen const& asked, char const* key, json::object const& one) {
  json::array all;
  for (int i = 0; i < std::stoi(asked.query("limit")); ++i) all.push_back(one);
  return {.body = json::serialize(json::object{{key, all}, {"next_page_token", "k1"}})};
}

// Answers every listing with endless pages.
test::http_reply endless(test::http_seen const& asked) {
  auto const path = asked.path();
  if (path.ends_with("/tasks")) return page(asked, "tasks", {{"task", "worker:1"}});
  if (path.ends_with("/closures")) return page(asked, "closures", {{"id", "c-1"}});
  if (path == "/api/v1/jobs")
    return page(asked, "jobs", {{"id", "j-1"}, {"counts", {{"running", 1}}}});
  if (path == "/api/v1/programs") return page(asked, "programs", {{"id", "p-1"}});
  if (path == "/api/v1/clusters")
    return page(asked, "clusters", {{"name", "train"}, {"address", "127.0.0.1:1"}});
  return {.body = "{}"};
}

std::size_t count(test::http_service const& s, std::string const& end) {
  auto const seen = s.seen();
  return static_cast<std::size_t>(std::count_if(
      seen.begin(), seen.end(), [&](auto const& r) { return r.path().ends_with(end); }));
}

TEST(bounds, top_reads_a_limited_number_of_objects) {
  test::http_service server(endless);
  cli::rest r({.url = server.url(), .token = {}, .token_file = {}, .tls = {}});
  auto const f = cli::top::look(r, "default");
  EXPECT_EQ(f.tasks.size(), cli::top::tasks_max);
  EXPECT_EQ(f.programs.size(), cli::top::programs_max);
  EXPECT_EQ(f.slowest.size(), cli::top::slowest_max);
  EXPECT_EQ(count(server, "/closures"), cli::top::jobs_examined);
  EXPECT_EQ(count(server, "/api/v1/jobs"), 1u);
}

TEST(bounds, doctor_checks_a_limited_number_of_clusters_and_tasks) {
  test::http_service server(endless);
  temporary_directory directory;
  process doctor({.arguments = {MUSTER_BINARY, "doctor", "--url", server.url(), "--output", "json"},
                  .environment = {},
                  .input = {},
                  .output = directory / "out",
                  .errors = directory / "err"});
  EXPECT_EQ(doctor.wait(), 1) << doctor.errors();
  auto const out = doctor.output();
  std::size_t tried = 0;
  for (auto at = out.find("gRPC of cluster"); at != out.npos;
       at = out.find("gRPC of cluster", at + 1))
    ++tried;
  EXPECT_EQ(tried, 16u) << out;
  EXPECT_EQ(count(server, "/tasks"), 10u) << "pages of 1,000";
}

}  // namespace
}  // namespace muster::e2e
