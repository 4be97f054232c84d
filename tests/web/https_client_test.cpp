#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fstream>

#include "base/http_client/http_client.hpp"
#include "base/http_client/name_lookup.hpp"
#include "tests/support/cannot_run.hpp"
#include "tests/support/http_service.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;
using muster::test::authority;
using muster::test::cannot_run;
using muster::test::certificate;
using muster::test::certificate_request;
using muster::test::http_reply;
using muster::test::http_seen;
using muster::test::http_service;
using muster::test::one_by_one;
using muster::test::self_signed;

http_reply hello(http_seen const&) {
  return {200, "hello"};
}

http_result<http_response> get(http_client& client, std::string const& url,
                               std::chrono::milliseconds timeout = 20s) {
  http_request r;
  r.url = url;
  r.timeout = timeout;
  return client.send(r);
}

http_error error_of(http_client& client, std::string const& url,
                    std::chrono::milliseconds timeout = 20s) {
  auto const answer = get(client, url, timeout);
  EXPECT_FALSE(answer) << answer->body;
  return answer ? http_error{} : answer.error();
}

class https : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(ca_file()) << authority_.pem(); }
  void TearDown() override { std::remove(ca_file().c_str()); }
  static std::string ca_file() {
    auto const* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return ::testing::TempDir() + "muster_https_" + test->name() + ".pem";
  }
  http_client client(bool verify = true) { return http_client({1000, ca_file(), verify}); }

  authority authority_;
};

bool has(muster::status const& s, std::string const& part) {
  return s.message.find(part) != std::string::npos;
}

TEST_F(https, a_certificate_of_the_given_authority_is_accepted_by_name_and_by_address) {
  http_service const server(hello, {"127.0.0.1", authority_.issue()});
  auto c = client();
  for (auto const& host : {"127.0.0.1", "localhost"}) {
    auto const answer =
        get(c, "https://" + std::string(host) + ":" + std::to_string(server.port()));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "hello");
  }
}

TEST_F(https, a_connection_is_kept_between_requests) {
  http_service const server(hello, {"127.0.0.1", authority_.issue()});
  auto c = client();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(get(c, server.url()));
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(https, ipv6_addresses_work_in_brackets) {
  boost::asio::io_context context;
  boost::asio::ip::tcp::socket probe(context);
  boost::system::error_code ec;
  probe.open(boost::asio::ip::tcp::v6(), ec);
  if (!ec) probe.bind({boost::asio::ip::make_address("::1"), 0}, ec);
  if (ec) return cannot_run("no IPv6 here: " + ec.message());
  http_service const server(hello, {"::1", authority_.issue()});
  auto c = client();
  auto const answer = get(c, server.url());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(server.seen().at(0).headers.at("host"), "[::1]:" + std::to_string(server.port()));
}

TEST_F(https, unknown_authority_is_named_with_the_ca_file) {
  http_service const server(hello, {"127.0.0.1", authority("somebody else").issue()});
  auto c = client();
  auto const e = error_of(c, server.url());
  EXPECT_EQ(e.code, muster::code::unauthenticated);
  EXPECT_TRUE(has(e, server.url() + ": the server's certificate was rejected: ")) << e.message;
  EXPECT_EQ(e.failure, http_failure::certificate_not_accepted);
  EXPECT_TRUE(has(e, "issued by 'CN = somebody else'")) << e.message;
  EXPECT_TRUE(has(e, "those of " + ca_file())) << e.message;
}

TEST_F(https, self_signed_certificate_is_refused_by_the_system_store) {
  http_service const server(hello, {"127.0.0.1", self_signed()});
  http_client c;
  auto const e = error_of(c, server.url());
  EXPECT_EQ(e.code, muster::code::unauthenticated);
  EXPECT_EQ(e.failure, http_failure::certificate_not_accepted);
  EXPECT_TRUE(has(e, "self-signed certificate")) << e.message;
  EXPECT_TRUE(has(e, "the trusted authorities are the system's")) << e.message;
}

TEST_F(https, certificate_for_another_name_is_refused_with_its_names) {
  certificate_request other;
  other.names = {"DNS:other.example", "IP:10.0.0.1"};
  http_service const server(hello, {"127.0.0.1", authority_.issue(other)});
  auto c = client();
  auto const by_address = error_of(c, server.url());
  EXPECT_EQ(by_address.code, muster::code::unauthenticated);
  EXPECT_EQ(by_address.failure, http_failure::certificate_for_another_name);
  EXPECT_TRUE(
      has(by_address, "it is for DNS:other.example, IP Address:10.0.0.1, not for 127.0.0.1"))
      << by_address.message;
  auto const by_name = error_of(c, "https://localhost:" + std::to_string(server.port()));
  EXPECT_EQ(by_name.failure, http_failure::certificate_for_another_name);
  EXPECT_TRUE(has(by_name, "not for localhost")) << by_name.message;
}

TEST_F(https, certificate_outside_its_validity_is_refused_with_the_date) {
  certificate_request old;
  old.starts = -48h, old.ends = -24h;
  http_service const server(hello, {"127.0.0.1", authority_.issue(old)});
  auto c = client();
  auto const e = error_of(c, server.url());
  EXPECT_EQ(e.failure, http_failure::certificate_expired);
  EXPECT_TRUE(has(e, "certificate has expired; it expired at ")) << e.message;
  certificate_request early;
  early.starts = 24h, early.ends = 48h;
  http_service const other(hello, {"127.0.0.1", authority_.issue(early)});
  auto const not_yet = error_of(c, other.url());
  EXPECT_EQ(not_yet.failure, http_failure::certificate_not_yet_valid);
  EXPECT_TRUE(has(not_yet, "; it is not valid before ")) << not_yet.message;
}

TEST_F(https, any_certificate_is_accepted_without_verification) {
  http_service const server(hello, {"127.0.0.1", self_signed()});
  auto c = client(false);
  EXPECT_TRUE(get(c, server.url()));
}

TEST_F(https, invalid_ca_file_is_named) {
  http_service const server(hello, {"127.0.0.1", authority_.issue()});
  http_client missing({1000, "/nowhere/ca.pem", true});
  auto e = error_of(missing, server.url());
  EXPECT_EQ(e.code, muster::code::invalid_argument);
  EXPECT_EQ(e.failure, http_failure::bad_tls_file);
  EXPECT_EQ(e.message, "CA file /nowhere/ca.pem: No such file or directory");
  std::ofstream(ca_file()) << "no certificate";
  auto c = client();
  EXPECT_TRUE(has(error_of(c, server.url()), "contains no PEM certificate"));
}

/// Returns the path of a pipe with this content, like `<(…)` in a shell.
std::string piped(std::string const& text) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  return "/dev/fd/" + std::to_string(ends[0]);
}

TEST_F(https, files_can_be_pipes) {
  http_service const server(hello, {"127.0.0.1", authority_.issue()});
  auto const own = authority_.issue();
  http_client_options o;
  o.ca_file = piped(authority("another").pem() + authority_.pem());
  o.certificate_file = piped(own.chain_pem);
  o.key_file = piped(own.key_pem);
  for (int i = 0; i < 2; ++i) {
    http_client c(o);
    auto const answer = get(c, server.url());
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "hello");
  }
}

TEST_F(https, plain_http_server_is_reported) {
  http_service const server(hello);
  auto c = client();
  auto const e = error_of(c, "https://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(e.code, muster::code::unavailable);
  EXPECT_TRUE(e.failure == http_failure::tls_failed || e.failure == http_failure::broke)
      << e.message;
}

TEST_F(https, silent_handshake_times_out) {
  boost::asio::io_context context;
  boost::asio::ip::tcp::acceptor const silent(context, {boost::asio::ip::tcp::v4(), 0});
  auto const port = silent.local_endpoint().port();
  auto c = client();
  auto const e = error_of(c, "https://127.0.0.1:" + std::to_string(port), 50ms);
  EXPECT_EQ(e.code, muster::code::unavailable);
  EXPECT_EQ(e.failure, http_failure::timed_out);
  EXPECT_TRUE(has(e, "timed out")) << e.message;
}

TEST_F(https, truncated_body_is_an_error) {
  for (bool const tls : {false, true}) {
    http_service::options options;
    if (tls) options.tls = authority_.issue();
    http_service const server(one_by_one({{200, "0123456789", {}, http_reply::way::cut},
                                          {200, "", {}, http_reply::way::hang_up},
                                          {200, "fine", {}, http_reply::way::chunked}}),
                              options);
    auto c = client();
    auto const cut = error_of(c, server.url());
    EXPECT_EQ(cut.code, muster::code::unavailable);
    EXPECT_EQ(cut.failure, http_failure::broke);
    EXPECT_TRUE(has(cut, "while reading the answer")) << cut.message;
    EXPECT_TRUE(has(error_of(c, server.url()), "waiting for the answer"));
    auto const fine = get(c, server.url());
    ASSERT_TRUE(fine) << fine.error().message;
    EXPECT_EQ(fine->body, "fine");
  }
}

TEST_F(https, response_above_the_limit_is_refused) {
  http_service const server([](http_seen const&) {
    return http_reply{200, std::string(1001, 'x')};
  });
  auto c = client();
  auto const e = error_of(c, server.url());
  EXPECT_EQ(e.code, muster::code::resource_exhausted);
  EXPECT_EQ(e.failure, http_failure::answer_too_long);
  EXPECT_TRUE(has(e, "longer than 1000 bytes")) << e.message;
}

TEST_F(https, name_lookup_has_a_time_limit) {
  auto const known = look_up("localhost", "80", std::chrono::steady_clock::now() + 20s);
  EXPECT_FALSE(known.error) << known.error.message();
  EXPECT_FALSE(known.endpoints.empty());
  auto const begun = std::chrono::steady_clock::now();
  auto const unknown = look_up("nobody.invalid", "80", begun + 100ms);
  EXPECT_TRUE(unknown.error);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
  auto c = client();
  auto const e = error_of(c, "https://nobody.invalid/", 100ms);
  EXPECT_EQ(e.code, muster::code::unavailable);
  EXPECT_TRUE(e.failure == http_failure::name_unknown || e.failure == http_failure::timed_out)
      << e.message;
  EXPECT_TRUE(has(e, "cannot reach https://nobody.invalid: ")) << e.message;
}

TEST_F(https, line_breaks_in_headers_are_refused) {
  http_service const server(hello);
  auto c = client();
  http_request r;
  r.url = server.url();
  r.token = "a\r\nX-Other: 1";
  EXPECT_EQ(c.send(r).error().code, muster::code::invalid_argument);
  EXPECT_EQ(c.send(r).error().failure, http_failure::bad_header);
  r.token = {};
  r.headers.emplace_back("X-A", "1\n");
  EXPECT_EQ(c.send(r).error().code, muster::code::invalid_argument);
  EXPECT_TRUE(server.seen().empty());
}

}  // namespace
}  // namespace muster::web::test
