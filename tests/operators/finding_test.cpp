#include "cli/doctor/finding.hpp"

#include <gtest/gtest.h>

#include "cli/rest.hpp"

namespace muster::cli::doctor {
namespace {

finding judged(request_end const& end, bool with_token = false,
               std::string const& url = "http://a:1") {
  auto f = judge_refusal("a sentence that says nothing", end, with_token, url);
  EXPECT_EQ(f.is, result::problem);
  EXPECT_EQ(f.text, "a sentence that says nothing");
  return f;
}

finding failed(http_failure why, std::string const& url = "http://a:1") {
  return judged({.failures = {why}}, false, url);
}

finding answered(unsigned status, std::string code, std::string field, bool with_token) {
  return judged({.status = status, .code = std::move(code), .field = std::move(field)}, with_token);
}

void expect(finding const& f, std::string const& check, std::string const& part_of_fix) {
  EXPECT_EQ(f.check, check) << f.fix;
  EXPECT_NE(f.fix.find(part_of_fix), std::string::npos) << f.fix;
}

TEST(doctor, each_connection_failure_has_advice) {
  expect(failed(http_failure::certificate_expired), "certificate", "renew it");
  expect(failed(http_failure::certificate_not_yet_valid), "certificate", "clocks of both");
  expect(failed(http_failure::certificate_for_another_name), "certificate", "use a name");
  expect(failed(http_failure::certificate_not_accepted), "certificate", "--ca FILE");
  expect(failed(http_failure::name_unknown), "ports", "getent hosts NAME");
  for (auto const other :
       {http_failure::refused, http_failure::unreachable, http_failure::broke,
        http_failure::tls_failed, http_failure::answer_too_long, http_failure::timed_out})
    expect(failed(other), "health", "server's log");
}

TEST(doctor, timeout_over_https_suggests_a_port_without_tls) {
  expect(failed(http_failure::timed_out, "https://a:1"), "ports", "write http://");
}

TEST(doctor, first_known_problem_of_several_servers_is_reported) {
  expect(judged({.failures = {http_failure::refused, http_failure::name_unknown}}), "ports",
         "getent");
}

json::value worker_of(std::string const& version, std::int64_t index) {
  return json::object{{"kind", "worker"},
                      {"state", "CONNECTED"},
                      {"version", version},
                      {"job", "worker"},
                      {"index", index}};
}

TEST(doctor, workers_of_another_version_cause_a_warning) {
  auto const same = judge_versions("0.1.0", "0.1.0",
                                   {worker_of("0.1.0", 0), worker_of("0.1.0 (python 3.11.7)", 1)});
  ASSERT_EQ(same.size(), 2u);
  EXPECT_EQ(same[1].is, result::ok) << same[1].text;
  auto const other =
      judge_versions("0.1.0", "0.1.0", {worker_of("0.0.9", 0), worker_of("0.0.9", 1)});
  ASSERT_EQ(other.size(), 2u);
  EXPECT_EQ(other[1].is, result::warning);
  EXPECT_EQ(other[1].text,
            "workers: 2 with version 0.0.9 (worker:0, …); the server has version 0.1.0");
  EXPECT_NE(other[1].fix.find("install the server's version"), std::string::npos);
  auto const untold = judge_versions("0.1.0", "0.1.0", {worker_of("", 0)});
  EXPECT_EQ(untold[1].is, result::ok) << untold[1].text;
}

TEST(doctor, each_refusal_has_advice) {
  expect(answered(401, "UNAUTHENTICATED", "", false), "token", "--token-file FILE");
  expect(answered(401, "UNAUTHENTICATED", "", true), "token", "muster token list");
  expect(answered(403, "PERMISSION_DENIED", "role", true), "token", "a viewer's token");
  expect(answered(403, "PERMISSION_DENIED", "cluster", true), "token", "not bound to a cluster");
  expect(answered(400, "INVALID_ARGUMENT", "scheme", false), "ports", "write https://");
  expect(answered(404, "", "", false), "ports", "another program answers");
}

TEST(doctor, other_responses_refer_to_the_log_of_the_server) {
  expect(answered(404, "NOT_FOUND", "", false), "health", "server's log");
  expect(answered(401, "", "", true), "health", "server's log");
  expect(answered(403, "PERMISSION_DENIED", "function", true), "health", "server's log");
  expect(answered(500, "INTERNAL", "", false), "health", "server's log");
}

TEST(doctor, responses_of_other_programs_are_recognised) {
  auto const ours = rest::problem(
      {403, {}, R"({"status":403,"detail":"d","code":"PERMISSION_DENIED","field":"role"})"});
  EXPECT_STREQ(ours.what(), "d");
  EXPECT_EQ(ours.end().status, 403u);
  EXPECT_EQ(ours.end().code, "PERMISSION_DENIED");
  EXPECT_EQ(ours.end().field, "role");
  auto const other = rest::problem({404, {}, "<html>"});
  EXPECT_STREQ(other.what(), "the server answered with HTTP status 404");
  EXPECT_EQ(other.end().code, "");
}

}  // namespace
}  // namespace muster::cli::doctor
