#include "web/server/assets.hpp"

#include "base/base_path.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/web/fixture.hpp"
#include "web/server/documentation.hpp"

namespace muster::web::test {
namespace {

class assets : public web_fixture {
 protected:
  http_response fetch(std::string const& path, std::string const& encoding = {},
                      std::string const& etag = {}) {
    http_request r;
    r.url = url(path);
    if (!encoding.empty()) r.headers.emplace_back("Accept-Encoding", encoding);
    if (!etag.empty()) r.headers.emplace_back("If-None-Match", etag);
    return send(r);
  }
};

constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'";

TEST_F(assets, dashboard_routes_are_served_with_strict_headers) {
  start();
  auto const index = fetch("/");
  EXPECT_EQ(index.status, 200u);
  for (auto const* path : {"/index.html",
                           "/tasks",
                           "/workers/worker:3",
                           "/jobs/job_0000000000000001",
                           "/jobs/job_0000000000000001/graph",
                           "/closures/cl_0000000000000001",
                           "/values",
                           "/per-worker",
                           "/objects",
                           "/programs",
                           "/programs/prog_1",
                           "/gangs",
                           "/logs",
                           "/sessions",
                           "/stream",
                           "/barriers",
                           "/stragglers",
                           "/kv",
                           "/events",
                           "/about",
                           "/tasks/worker/3"})
    EXPECT_EQ(fetch(path).body, index.body) << path;
  EXPECT_EQ(index.header("Content-Security-Policy"), policy);
  EXPECT_EQ(index.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(index.header("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(index.header("Cross-Origin-Opener-Policy"), "same-origin");
  EXPECT_EQ(index.header("Cache-Control"), "no-cache");
}

TEST_F(assets, unknown_files_are_not_found) {
  start();
  for (auto const* path :
       {"/app.js", "/../etc/passwd", "/%2e%2e/etc/passwd", "/tasksx", "/api/tasks"})
    EXPECT_EQ(fetch(path).status, 404u) << path;
}

TEST_F(assets, unknown_path_is_a_page_for_browsers_and_a_problem_for_scripts) {
  start();
  http_request r;
  r.method = "GET";
  r.url = url("/no/such&page%3Cb%3E");
  r.headers = {{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}};
  auto const page = send(r);
  EXPECT_EQ(page.status, 404u);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(page.body.find("<code>/no/such&amp;page%3Cb%3E</code>"), page.body.npos) << page.body;
  r.headers.clear();
  EXPECT_EQ(send(r).header("Content-Type"), "application/problem+json");
  r.url = url("/api/v1/nothing");
  r.headers = {{"Accept", "text/html"}};
  EXPECT_EQ(send(r).header("Content-Type"), "application/problem+json")
      << "the API serves no pages";
}

TEST_F(assets, icon_is_served_at_the_path_that_browsers_request) {
  start();
  auto const icon = fetch("/favicon.ico");
  EXPECT_EQ(icon.status, 200u);
  EXPECT_EQ(icon.header("Content-Type"), "image/svg+xml");
  EXPECT_EQ(icon.body, fetch("/icon.svg").body);
}

TEST_F(assets, known_etag_is_answered_with_304_and_no_body) {
  start();
  auto const etag = std::string(fetch("/").header("ETag"));
  ASSERT_FALSE(etag.empty());
  auto const again = fetch("/", {}, etag);
  EXPECT_EQ(again.status, 304u);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(fetch("/", {}, "\"other\"").status, 200u);
}

TEST_F(assets, embedded_assets_are_served_plain_and_compressed) {
  start();
  for (auto const& a : embedded_assets()) {
    auto const path = std::string(a.path);
    auto const plain = fetch(path);
    EXPECT_EQ(plain.body, a.plain) << path;
    EXPECT_EQ(plain.header("Content-Type"), a.type);
    EXPECT_EQ(plain.header("Content-Encoding"), "");
    EXPECT_EQ(plain.header("Vary"), "Accept-Encoding");
    auto const caching = a.immutable ? "public, max-age=31536000, immutable" : "no-cache";
    EXPECT_EQ(plain.header("Cache-Control"), caching) << path;
    if (a.gzip.empty()) continue;
    auto const packed = fetch(path, "deflate, gzip;q=0.8");
    EXPECT_EQ(packed.body, a.gzip);
    EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
    EXPECT_EQ(fetch(path, "gzip;q=0").header("Content-Encoding"), "");
  }
#ifdef MUSTER_WITH_DASHBOARD
  EXPECT_GE(embedded_assets().size(), 5u);
#endif
}

TEST_F(assets, documentation_is_served_from_its_directory_alone) {
  muster::test::temporary_directory const directory;
  directory.write("index.html", "start");
  directory.write("page.html", "a page");
  directory.write("script.js", "js");
  directory.write("key.pem", "secret");
  directory.write(".hidden.html", "secret");
  directory.write("large.txt", std::string(documentation::file_bytes_max + 1, ' '));
  web_options options;
  options.docs_dir = directory.path();
  start(options);
  EXPECT_EQ(fetch("/docs").header("Location"), "/docs/");
  auto const first = fetch("/docs/");
  EXPECT_EQ(first.body, "start");
  EXPECT_EQ(first.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(first.header("Content-Security-Policy").find("frame-ancestors 'none'"),
            std::string_view::npos);
  EXPECT_EQ(fetch("/docs/", {}, std::string(first.header("ETag"))).status, 304u);
  EXPECT_EQ(fetch("/docs/page.html").body, "a page");
  EXPECT_EQ(fetch("/docs/script.js").header("Content-Type"), "text/javascript; charset=utf-8");
  for (auto const* path :
       {"/docs/none.html", "/docs/key.pem", "/docs/.hidden.html", "/docs/../index.html",
        "/docs/%2e%2e/index.html", "/docs//index.html", "/docs/./index.html", "/docs/large.txt"})
    EXPECT_EQ(fetch(path).status, 404u) << path;
}

TEST_F(assets, base_path_is_in_pages_redirects_and_locations) {
  muster::test::temporary_directory const directory;
  directory.write("manifest.json",
                  R"([{"path":"/","file":"i.html","type":"text/html","immutable":false}])");
  directory.write("i.html", "<a href=\"/x.js\" id=\"a\"><img src=\"/icon.svg\">");
  web_options options;
  options.dashboard_dir = directory.path();
  options.docs_dir = directory.path();
  options.base_path = "/a/muster";
  start(options);
  for (auto const* path : {"/", "/now", "/a/muster", "/a/muster/", "/a/muster/runs/job_1/graph"})
    EXPECT_EQ(fetch(path).body,
              "<a href=\"/a/muster/x.js\" id=\"a\"><img src=\"/a/muster/icon.svg\">")
        << path;
  EXPECT_EQ(fetch("/a/muster/docs").header("Location"), "/a/muster/docs/");
  EXPECT_EQ(fetch("/a/muster/livez").status, 200u);
  EXPECT_EQ(fetch("/livez").status, 200u) << "some proxies remove the prefix";
  EXPECT_EQ(fetch("/a/musterlivez").status, 404u);
  EXPECT_EQ(fetch("/a/muster/a/muster/livez").status, 404u) << "only one prefix is removed";
  http_request submit;
  submit.method = "POST";
  submit.url = url("/a/muster/api/v1/jobs");
  submit.headers.emplace_back("Content-Type", "application/json");
  submit.body = R"({"closures":[{"function":"muster.noop"}]})";
  auto const job = send(submit);
  EXPECT_EQ(job.status, 201u) << job.body;
  EXPECT_TRUE(job.header("Location").starts_with("/a/muster/api/v1/jobs/job_"))
      << job.header("Location");
  EXPECT_NE(fetch("/openapi.json").body.find(R"("servers":[{"url":"/a/muster"}])"),
            std::string::npos);
}

TEST(base_path, is_a_plain_path_without_a_slash_at_the_end) {
  for (auto const* good : {"", "/a", "/a/b-c_d.e", "/A9"}) EXPECT_TRUE(is_base_path(good)) << good;
  for (auto const* bad : {"/", "a", "/a/", "//a", "/a//b", "/.", "/a/..", "/a b", "/\"", "/%41"})
    EXPECT_FALSE(is_base_path(bad)) << bad;
  EXPECT_TRUE(is_base_path("/" + std::string(base_path_bytes_max - 1, 'a')));
  EXPECT_FALSE(is_base_path("/" + std::string(base_path_bytes_max, 'a')));
}

TEST_F(assets, server_without_documentation_says_how_to_get_it) {
  start();
  auto const page = fetch("/docs/");
  EXPECT_EQ(page.status, 404u);
  EXPECT_NE(page.body.find("scripts/docs"), std::string::npos) << page.body;
}

TEST_F(assets, assets_can_be_served_from_a_directory) {
  muster::test::temporary_directory const directory;
  directory.write("manifest.json",
                  R"([{"path":"/","file":"i.html","type":"text/html","immutable":false},
      {"path":"/app-1.js","file":"app.js","type":"text/javascript","immutable":true},
      {"path":"/out.txt","file":"../out.txt","type":"text/plain","immutable":false}])");
  directory.write("i.html", "one");
  directory.write("app.js", "js");
  web_options options;
  options.dashboard_dir = directory.path();
  start(options);
  EXPECT_EQ(fetch("/").body, "one");
  EXPECT_EQ(fetch("/app-1.js").header("Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(fetch("/out.txt").status, 404u);
  auto const etag = std::string(fetch("/").header("ETag"));
  directory.write("i.html", "two");
  EXPECT_EQ(fetch("/", {}, etag).body, "two");
  directory.write("manifest.json", "{broken");
  EXPECT_EQ(fetch("/").status, 404u);
}

}  // namespace
}  // namespace muster::web::test
