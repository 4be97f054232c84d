#include "server/core/access/token_table.hpp"

#include <gtest/gtest.h>

namespace muster::core {
namespace {

using namespace std::chrono_literals;

constexpr time_point now{1'000'000s};

token made(std::string id, role r = role::viewer) {
  token t;
  t.id = std::move(id);
  t.role = r;
  t.salt = "salt";
  t.digest = "digest of " + t.id;
  return t;
}

TEST(token_table, creates_finds_and_revokes_tokens) {
  token_table all;
  EXPECT_TRUE(all.step(create_token{made("ci-1")}, now).ok());
  ASSERT_NE(all.find("ci-1"), nullptr);
  EXPECT_EQ(all.find("ci-1")->role, role::viewer);
  EXPECT_EQ(all.step(create_token{made("ci-1")}, now).code, code::already_exists);
  EXPECT_TRUE(all.step(revoke_token{"ci-1"}, now).ok());
  EXPECT_EQ(all.find("ci-1"), nullptr);
  EXPECT_EQ(all.step(revoke_token{"ci-1"}, now).code, code::not_found);
}

TEST(token_table, rotation_changes_only_the_secret) {
  token_table all;
  auto t = made("ci-1", role::submitter);
  t.clusters = {"train"};
  ASSERT_TRUE(all.step(create_token{t}, now).ok());
  ASSERT_TRUE(all.step(rotate_token{"ci-1", "s", "d"}).ok());
  t.salt = "s";
  t.digest = "d";
  EXPECT_EQ(*all.find("ci-1"), t);
  EXPECT_EQ(all.step(rotate_token{"ci-2", "s", "d"}).code, code::not_found);
}

TEST(token_table, invalid_token_is_refused_by_field) {
  token_table all;
  auto const refused = [&](token t) {
    auto const s = all.step(create_token{std::move(t)}, now);
    EXPECT_EQ(s.code, code::invalid_argument) << s.message;
    return s.message.substr(0, s.message.find(':'));
  };
  EXPECT_EQ(refused(made("")), "name");
  EXPECT_EQ(refused(made("a b")), "name");
  EXPECT_EQ(refused(made(std::string(token_table::id_bytes_max + 1, 'a'))), "name");
  auto t = made("a");
  t.clusters.assign(token_table::clusters_max + 1, "c");
  EXPECT_EQ(refused(t), "clusters");
  t = made("a", role::admin);
  t.clusters = {"c"};
  EXPECT_EQ(refused(t), "clusters");
  t = made("a");
  t.expires = now;
  EXPECT_EQ(refused(t), "expires");
  EXPECT_TRUE(all.all().empty());
}

TEST(token_table, the_last_admin_token_cannot_be_revoked) {
  token_table all;
  ASSERT_TRUE(all.step(create_token{made("a", role::admin)}, now).ok());
  ASSERT_TRUE(all.step(create_token{made("v")}, now).ok());
  EXPECT_EQ(all.step(revoke_token{"a"}, now).code, code::failed_precondition);
  auto brief = made("b", role::admin);
  brief.expires = now + 1h;
  ASSERT_TRUE(all.step(create_token{brief}, now).ok());
  // An expired token does not count as an admin.
  EXPECT_EQ(all.step(revoke_token{"a"}, now + 2h).code, code::failed_precondition);
  EXPECT_FALSE(!all.has_admin(now + 2h));
  EXPECT_TRUE(all.step(revoke_token{"a"}, now).ok());
  EXPECT_EQ(all.next_expiry(now), brief.expires);
  EXPECT_EQ(all.next_expiry(brief.expires), never);
}

TEST(token_table, full_table_refuses_tokens) {
  token_table all;
  for (std::size_t i = 0; i < token_table::tokens_max; ++i)
    ASSERT_TRUE(all.step(create_token{made("t" + std::to_string(i))}, now).ok());
  auto const full = all.step(create_token{made("more")}, now);
  EXPECT_EQ(full.code, code::resource_exhausted);
  EXPECT_NE(full.message.find("10000"), std::string::npos);
  EXPECT_TRUE(all.step(revoke_token{"t0"}, now).ok());
  EXPECT_TRUE(all.step(create_token{made("more")}, now).ok());
}

TEST(token_table, tokens_of_a_file_change_only_through_the_file) {
  token_table all;
  ASSERT_TRUE(all.step(create_token{made("kept", role::admin)}, now).ok());
  auto in_file = [](std::string id, role r = role::viewer) {
    auto t = made(std::move(id), r);
    t.from_file = true;
    return t;
  };
  EXPECT_TRUE(all.replace_file({in_file("a"), in_file("b")}).empty());
  EXPECT_EQ(all.step(revoke_token{"a"}, now).code, code::failed_precondition);
  EXPECT_EQ(all.step(rotate_token{"a", "s", "d"}).code, code::failed_precondition);
  // Equal tokens change nothing. A changed or missing token is reported as ended.
  EXPECT_TRUE(all.replace_file({in_file("a"), in_file("b")}).empty());
  EXPECT_EQ(all.replace_file({in_file("b", role::admin)}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(all.find("b")->role, role::admin);
  EXPECT_NE(all.find("kept"), nullptr);
}

// The table of docs/tokens.md.
TEST(roles, have_the_documented_permissions) {
  using enum permission;
  struct row {
    permission what;
    bool viewer, submitter, worker, admin;
  };
  for (auto const& r : std::vector<row>{{nothing, true, true, true, true},
                                        {view, true, true, false, true},
                                        {submit, false, true, false, true},
                                        {work, false, false, true, true},
                                        {share, false, true, true, true},
                                        {coordinate, false, false, true, true},
                                        {administer, false, false, false, true}}) {
    auto const what = std::string(description(r.what));
    EXPECT_EQ(allows(role::viewer, r.what), r.viewer) << what;
    EXPECT_EQ(allows(role::submitter, r.what), r.submitter) << what;
    EXPECT_EQ(allows(role::worker, r.what), r.worker) << what;
    EXPECT_EQ(allows(role::admin, r.what), r.admin) << what;
  }
}

TEST(roles, submitters_can_change_only_their_own_work) {
  auto const who = [](std::string id, role r) {
    return std::make_shared<token const>(made(id, r));
  };
  EXPECT_TRUE(can_change(nullptr, "x"));
  EXPECT_TRUE(can_change(who("x", role::submitter), "x"));
  EXPECT_TRUE(can_change(who("x", role::submitter), ""));
  EXPECT_FALSE(can_change(who("y", role::submitter), "x"));
  EXPECT_FALSE(can_change(who("x", role::viewer), "x"));
  EXPECT_TRUE(can_change(who("y", role::admin), "x"));
}

}  // namespace
}  // namespace muster::core
