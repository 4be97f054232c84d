#include "web/json/token_json.hpp"

#include "server/core/access/token_table.hpp"
#include "server/hub/access/token_text.hpp"
#include "web/json/json_fields.hpp"

namespace muster::web {

namespace {

using namespace schema;

constexpr std::size_t name_max = 48, cluster_bytes_max = 256;
constexpr std::uint64_t limit_max = std::uint64_t{1} << 53;

json_kind<std::vector<std::string>> some_clusters() {
  return {with(array(text(1, cluster_bytes_max)), {{"maxItems", 64}}),
          [](json_check& check, json_ref const& at) {
            std::vector<std::string> all;
            if (!check.is(at, json_type::array)) return all;
            for (json_walk m(at); m.next() && !check.failed();) {
              if (all.size() == core::token_table::clusters_max) {
                check.fail(at, "too many clusters", "64");
                break;
              }
              all.push_back(check.text(m.value(), cluster_bytes_max));
              if (!check.failed() && all.back().empty()) check.fail(m.value(), "empty");
            }
            return all;
          }};
}

json_object<server::token_request> const& token_table() {
  using w = server::token_request;
  static auto const limit = [] { return integer_kind(0, static_cast<std::int64_t>(limit_max)); };
  auto role = enum_kind<core::role>();
  role.missing = "required: viewer, submitter, worker or admin";
  static json_object<w> const table(
      {required("role", &w::role, std::move(role)), field("name", &w::name, text_kind(name_max)),
       field("clusters", &w::clusters, some_clusters()),
       field("expires", &w::expires_in, duration_kind(std::chrono::years(100), true)),
       field("allow_exec", &w::allow_exec, flag_kind()),
       field("queued_max", &w::queued_max, limit()),
       field("sessions_max", &w::sessions_max, limit()),
       field("value_bytes_max", &w::value_bytes_max, limit())});
  return table;
}

struct sign_in {
  std::string token;
};
json_object<sign_in> const& sign_in_table() {
  auto kind = text_kind(server::credential_bytes_max);
  kind.missing = "missing";
  static json_object<sign_in> const table({required("token", &sign_in::token, std::move(kind))});
  return table;
}

void token_members(member_list const& m, core::token const& t, bool from_files) {
  m("id", t.id);
  m("role", t.role);
  m.some("clusters", t.clusters,
         "clusters for which the token is valid; missing if it is valid for all clusters");
  m.when(t.expires != core::never)("expires_ms", t.expires);
  m("allow_exec", t.allow_exec);
  m.when(!t.from_file)("created_ms", t.created);
  m.some("created_by", t.created_by, "id of the token that created this token");
  if (from_files) m.some("from_file", t.from_file, "true if the token is from --token-file");
  m.some("queued_max", t.queued_max);
  m.some("sessions_max", t.sessions_max);
  m.some("value_bytes_max", t.value_bytes_max);
}

// These members are written first, although /openapi.json lists them last.
void session_members(member_list const& m, session_state const& s) {
  m("required", s.required, "true if the server requires a token");
  m("signed_in", s.signed_in);
  m.when(s.read_only)("read_only", s.read_only,
                      "true if the server shows the data of a stopped server and refuses changes");
}

}  // namespace

server::token_request read_token(json_check& check, json_ref const& body) {
  server::token_request w;
  token_table().read(check, body, w);
  return w;
}

std::string read_sign_in(json_check& check, json_ref const& body) {
  sign_in s;
  sign_in_table().read(check, body, s);
  return s.token;
}

void members(member_list const& m, core::token const& t) {
  token_members(m, t, true);
}

void members(member_list const& m, server::new_token const& t) {
  token_members(m, t.token, false);
  m("token", t.credential, "the secret, sent as 'Authorization: Bearer …'");
  m.some("warning", t.warning, "reason why the server accepts requests without a token");
}

void write(json_out& out, session_state const& s) {
  auto const object = out.object();
  session_members(member_list(out), s);
  if (s.who) members(member_list(out), *s.who);
}

std::vector<schema::named> token_schemas() {
  auto const session = member_list::object_schema([](member_list const& m) {
    members(m.when(true), core::token());
    session_members(m, {});
  });
  return {{"TokenRequest", token_table().schema()},
          {"SignIn", sign_in_table().schema()},
          {"TokenView", schema_of<core::token>()},
          {"NewToken", schema_of<server::new_token>()},
          {"TokenPage", page_schema("tokens", "TokenView")},
          {"Session", session}};
}

}  // namespace muster::web
