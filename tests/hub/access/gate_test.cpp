#include "server/hub/access/gate.hpp"

#include <gtest/gtest.h>

#include <set>

#include "server/hub/access/networks.hpp"
#include "server/hub/access/token_file.hpp"
#include "server/hub/access/token_keeper.hpp"
#include "server/hub/access/token_text.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using core::permission;

struct access : ::testing::Test {
  access() {
    g.require();
    keeper.start();
  }

  new_token make(core::role r, core::duration expires = {}) {
    token_request w;
    w.role = r;
    w.expires_in = expires;
    auto made = keeper.create(w, nullptr);
    EXPECT_TRUE(made);
    return *made;
  }
  muster::code asked(std::string const& credential, permission p, std::string from = "10.0.0.1") {
    last = g.judge({credential, from, "a test", p});
    return last.status.code;
  }

  core::time_point now{std::chrono::seconds(1'000'000)};
  std::vector<std::string> ended;
  std::vector<log_event> told;
  std::vector<core::token_change> written;
  core::time_point armed{};
  gate g{[this] { return now; }};
  token_keeper keeper{
      g,
      {.now = [this] { return now; },
       .arm = [this](core::time_point at) { armed = at; },
       .tell = [this](log_event const& n) { told.push_back(n); },
       .ended = [this](std::string const& id) { ended.push_back(id); },
       .write_down = [this](core::token_change const& f) { written.push_back(f); }}};
  verdict last;
};

TEST_F(access, needs_a_token_of_the_right_role) {
  auto const t = make(core::role::submitter);
  EXPECT_EQ(asked(t.credential, permission::submit), code::ok);
  EXPECT_EQ(last.who->id, t.token.id);
  EXPECT_EQ(asked(t.credential, permission::administer), code::permission_denied);
  EXPECT_EQ(asked("", permission::view), code::unauthenticated);
  EXPECT_EQ(asked("", permission::nothing), code::ok);
  EXPECT_EQ(asked(t.credential + "x", permission::view), code::unauthenticated);
  EXPECT_EQ(asked("muster." + t.token.id + ".", permission::view), code::unauthenticated);
  EXPECT_EQ(asked("muster.nobody-000000.x", permission::view), code::unauthenticated);
  EXPECT_EQ(asked(std::string(credential_bytes_max + 1, 'x'), permission::view),
            code::unauthenticated);
}

TEST_F(access, is_free_where_no_token_is_required) {
  gate open([this] { return now; });
  auto const v = open.judge({"", "10.0.0.1", "a test", permission::administer});
  EXPECT_TRUE(v.status.ok());
  EXPECT_EQ(v.who, nullptr);
}

TEST_F(access, ends_with_the_token) {
  auto const admin = make(core::role::admin);
  auto const t = make(core::role::viewer);
  auto const brief = make(core::role::viewer, 1h);
  EXPECT_EQ(armed, now + 1min);  // refusals are reported before it expires
  ASSERT_TRUE(keeper.revoke(t.token.id).ok());
  EXPECT_EQ(asked(t.credential, permission::view), code::unauthenticated);
  EXPECT_EQ(ended, std::vector{t.token.id});
  now += 1h;
  EXPECT_EQ(asked(brief.credential, permission::view), code::unauthenticated);
  keeper.on_deadline();
  EXPECT_EQ(ended, (std::vector{t.token.id, brief.token.id}));
  keeper.on_deadline();
  EXPECT_EQ(ended.size(), 2u);
  EXPECT_EQ(asked(admin.credential, permission::administer), code::ok);
}

TEST_F(access, repeated_check_is_not_logged) {
  auto const t = make(core::role::worker);
  asking again{t.credential, "10.0.0.1", "a call", permission::coordinate};
  again.again = true;
  EXPECT_TRUE(g.judge(again).status.ok());
  ASSERT_TRUE(keeper.revoke(t.token.id).ok());
  auto const v = g.judge(again);
  EXPECT_EQ(v.status.message, "this token is unknown, revoked or expired");
  EXPECT_EQ(v.delay.count(), 0);
  EXPECT_EQ(g.counts().wrong, 0u);
}

// A used token is cached; revocation and changes must not depend on that.
TEST_F(access, new_token_can_be_revoked_and_changed_at_once) {
  auto const t = make(core::role::submitter);
  auto const brief = make(core::role::viewer, 1h);
  for (auto const* one : {&t, &brief})
    for (int i = 0; i < 2; ++i) EXPECT_EQ(asked(one->credential, permission::view), code::ok);
  EXPECT_EQ(g.known(t.credential, permission::submit)->id, t.token.id);
  EXPECT_EQ(g.known(t.credential, permission::administer), nullptr);
  auto other = t.credential;
  other.back() = other.back() == 'A' ? 'B' : 'A';
  EXPECT_EQ(asked(other, permission::view), code::unauthenticated);
  EXPECT_EQ(asked(t.credential.substr(0, t.credential.size() - 1), permission::view),
            code::unauthenticated);
  gate another([this] { return now; });
  another.require();
  EXPECT_EQ(another.who(t.credential), nullptr) << "of another gate";
  now += 1h;
  EXPECT_EQ(asked(brief.credential, permission::view), code::unauthenticated);
  EXPECT_EQ(asked(t.credential, permission::view), code::ok);
  auto const again = keeper.rotate(t.token.id);
  ASSERT_TRUE(again);
  EXPECT_EQ(asked(t.credential, permission::view), code::unauthenticated);
  EXPECT_EQ(asked(again->credential, permission::view), code::ok);
  make(core::role::admin);
  ASSERT_TRUE(keeper.revoke(t.token.id).ok());
  EXPECT_EQ(asked(again->credential, permission::view), code::unauthenticated);
}

TEST_F(access, continues_with_the_new_secret_after_a_rotation) {
  auto const t = make(core::role::viewer);
  auto const again = keeper.rotate(t.token.id);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->token.id, t.token.id);
  EXPECT_EQ(asked(t.credential, permission::view), code::unauthenticated);
  EXPECT_EQ(asked(again->credential, permission::view), code::ok);
  EXPECT_EQ(ended, std::vector{t.token.id});
}

TEST_F(access, stored_token_contains_no_secret) {
  auto const t = make(core::role::viewer);
  ASSERT_EQ(written.size(), 1u);
  auto const secret = t.credential.substr(t.credential.rfind('.') + 1);
  EXPECT_EQ(secret.size(), 43u);  // 256 bits in base64
  EXPECT_EQ(written[0].now->digest.size(), 32u);
  EXPECT_EQ(written[0].now->salt.size(), 16u);
  EXPECT_EQ(written[0].now->digest.find(secret), std::string::npos);
  make(core::role::admin);
  ASSERT_TRUE(keeper.revoke(t.token.id).ok());
  EXPECT_EQ(written.back().id, t.token.id);
  EXPECT_EQ(written.back().now, nullptr);
}

TEST_F(access, secrets_differ) {
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) all.insert(make(core::role::viewer).credential);
  EXPECT_EQ(all.size(), 100u);
}

TEST_F(access, wrong_tokens_are_delayed_with_a_doubling_pause_and_valid_ones_never) {
  auto const t = make(core::role::viewer);
  std::vector<std::chrono::milliseconds> delays;
  for (int i = 0; i < 8; ++i) {
    asked("muster.x.y", permission::view);
    delays.push_back(last.delay);
  }
  EXPECT_EQ(delays, (std::vector<std::chrono::milliseconds>{100ms, 200ms, 400ms, 800ms, 1600ms,
                                                            3200ms, 5s, 5s}));
  EXPECT_EQ(asked(t.credential, permission::view), code::ok);
  EXPECT_EQ(last.delay, 0ms);
  asked("muster.x.y", permission::view, "10.0.0.2");
  EXPECT_EQ(last.delay, 100ms);
  asked("", permission::view);
  EXPECT_EQ(last.delay, 0ms);
}

TEST_F(access, queued_refusals_have_a_limit) {
  std::vector<verdict> waiting;
  for (int i = 0; i < gate::waiting_max; ++i)
    waiting.push_back(g.judge({"muster.x.y", "10.0.0." + std::to_string(i), "", permission::view}));
  for (auto const& v : waiting) EXPECT_GT(v.delay, 0ms);
  asked("muster.x.y", permission::view, "10.0.1.1");
  EXPECT_EQ(last.delay, 0ms);
  EXPECT_EQ(last.status.code, code::unauthenticated);
  waiting.clear();
  asked("muster.x.y", permission::view, "10.0.1.2");
  EXPECT_GT(last.delay, 0ms);
}

TEST_F(access, refusals_are_logged_once_a_minute_per_address) {
  for (int i = 0; i < 5; ++i) asked("", permission::view);
  asked("muster.x.y", permission::view);
  asked("", permission::view, "10.0.0.2");
  now += 1min;
  keeper.on_deadline();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].kind, "access_refused");
  EXPECT_EQ(told[0].subject, "10.0.0.1");
  EXPECT_EQ(told[0].text,
            "requests refused within a minute: 6 (5 without a token, 1 with a wrong token, 0 that "
            "their role does not allow); the last one: a test");
  EXPECT_EQ(told[1].subject, "10.0.0.2");
  now += 1min;
  keeper.on_deadline();
  EXPECT_EQ(told.size(), 2u);
}

TEST(refusals, addresses_without_a_place_are_counted_together) {
  refusals r;
  auto const at = refusals::clock::now();
  for (std::size_t i = 0; i < refusals::addresses_max + 10; ++i)
    EXPECT_EQ(r.note("a" + std::to_string(i), refusals::kind::wrong, "x", at),
              refusals::delay_first);
  auto const told = r.take(at);
  EXPECT_EQ(told.size(), refusals::addresses_max + 1);
  EXPECT_EQ(told.back().address, "");
  EXPECT_EQ(told.back().wrong, 10u);
  EXPECT_TRUE(r.take(at).empty());
  // Forgiven addresses free their places.
  auto const later = at + refusals::forgiven_after + 1s;
  r.note("new", refusals::kind::wrong, "x", later);
  EXPECT_EQ(r.take(later).front().address, "new");
}

TEST(token_file, is_read_by_lines) {
  std::string const secret(40, 's');
  auto const all = parse_token_file("# comment\n\nviewer " + secret +
                                    "\nsubmitter muster.ci-1.0123456789012345678901234 "
                                    "cluster=a,b allow-exec\r\n");
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 2u);
  EXPECT_TRUE((*all)[0].id.starts_with("file-"));
  EXPECT_TRUE(fits((*all)[0], secret));
  EXPECT_EQ((*all)[1].id, "ci-1");
  EXPECT_EQ((*all)[1].clusters, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE((*all)[1].allow_exec);
  EXPECT_TRUE((*all)[1].from_file);
  // Equal text gives equal tokens, so no client is disconnected.
  EXPECT_EQ(*parse_token_file("viewer " + secret), std::vector{(*all)[0]});
}

TEST(token_file, error_names_the_line_and_never_the_token) {
  std::string const secret(40, 's');
  for (auto const& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"root " + secret, "line 1: must begin with a role"},
           {"\nviewer short", "line 2: the token has 5 bytes; the allowed range is 32 to 512"},
           {"viewer " + secret + " cluser=a", "line 1: 'cluser=a' must be"},
           {"admin " + secret + " cluster=a", "line 1: an admin token"},
           {"viewer " + secret + "\nviewer " + secret,
            "line 2: an earlier line defines a token"}}) {
    auto const all = parse_token_file(text);
    ASSERT_FALSE(all) << text;
    EXPECT_TRUE(all.error().message.starts_with(expected)) << all.error().message;
    EXPECT_EQ(all.error().message.find(secret), std::string::npos);
  }
}

TEST(networks, contain_addresses) {
  auto const in = [](char const* net, char const* address) {
    return parse_network(net).value().contains(address);
  };
  EXPECT_TRUE(in("10.0.0.0/8", "10.200.0.1"));
  EXPECT_FALSE(in("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(in("192.168.1.7", "192.168.1.7"));
  EXPECT_FALSE(in("192.168.1.7", "192.168.1.8"));
  EXPECT_TRUE(in("10.0.0.0/12", "10.15.0.1"));
  EXPECT_FALSE(in("10.0.0.0/12", "10.16.0.1"));
  EXPECT_TRUE(in("0.0.0.0/0", "8.8.8.8"));
  EXPECT_FALSE(in("0.0.0.0/0", "fd00::1"));
  EXPECT_TRUE(in("fd00::/8", "fd12::1"));
  EXPECT_TRUE(in("::1", "::1"));
  EXPECT_FALSE(in("::1", "nonsense"));
  for (auto const* wrong : {"", "10.0.0.0/33", "10.0.0.0/x", "10.0.0", "::/129", "host"})
    EXPECT_FALSE(parse_network(wrong)) << wrong;
}

TEST(bearer, is_taken_from_the_header) {
  EXPECT_EQ(bearer_of("Bearer abc"), "abc");
  EXPECT_EQ(bearer_of("bearer  abc "), "abc");
  EXPECT_EQ(bearer_of("Basic abc"), "");
  EXPECT_EQ(bearer_of("Bearer"), "");
  EXPECT_EQ(bearer_of(""), "");
}

}  // namespace
}  // namespace muster::server
