// Fields of tokens, and their schemas.
#include "web/json/token_json.hpp"

#include "server/core/access/token_table.hpp"
#include "server/hub/access/token_text.hpp"
#include "web/json/answer_schemas.hpp"
#include "web/json/json_fields.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

namespace {

using namespace schema;

constexpr std::string_view role_names[] = {"viewer", "submitter", "worker", "admin"};
constexpr std::size_t name_max = 48, cluster_bytes_max = 256;
constexpr std::uint64_t limit_max = std::uint64_t{1} << 53;

json_kind<core::role> a_role() {
  return {one_of(role_names),
          [](json_check& check, json_ref const& at) {
            if (!check.is(at, json_type::string)) return core::role::viewer;
            auto const r = core::parse_role(check.text(at, 16));
            if (!r && !check.failed())
              check.fail(at, "expected viewer, submitter, worker or admin");
            return r.value_or(core::role::viewer);
          },
          "missing: viewer, submitter, worker or admin"};
}

json_kind<std::vector<std::string>> some_clusters() {
  return {with(array(text(1, cluster_bytes_max)), R"("maxItems":64)"),
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

json_object<server::wanted_token> const& token_table() {
  using w = server::wanted_token;
  static auto const limit = [] { return an_integer(0, static_cast<std::int64_t>(limit_max)); };
  static json_object<w> const table(
      {required("role", &w::role, a_role()), field("name", &w::name, a_text(name_max)),
       field("clusters", &w::clusters, some_clusters()),
       field("expires", &w::expires_in, a_duration(std::chrono::years(100), true)),
       field("allow_exec", &w::allow_exec, a_flag()), field("queued_max", &w::queued_max, limit()),
       field("sessions_max", &w::sessions_max, limit()),
       field("value_bytes_max", &w::value_bytes_max, limit())});
  return table;
}

struct sign_in {
  std::string token;
};
json_object<sign_in> const& sign_in_table() {
  auto kind = a_text(server::credential_bytes_max);
  kind.missing = "missing";
  static json_object<sign_in> const table({required("token", &sign_in::token, std::move(kind))});
  return table;
}

std::vector<member> fields(bool needed) {
  return {{"id", text(), needed},
          {"role", one_of(role_names), needed},
          {"clusters", described(array(text()), "none: all"), optional},
          {"expires_ms", time(), optional},
          {"allow_exec", boolean(), needed},
          {"created_ms", time(), optional},
          {"created_by", described(text(), "id of a token"), optional},
          {"from_file", described(boolean(), "a line of --token-file"), optional},
          {"queued_max", count(), optional},
          {"sessions_max", count(), optional},
          {"value_bytes_max", count(), optional}};
}

}  // namespace

server::wanted_token read_token(json_check& check, json_ref const& body) {
  server::wanted_token w;
  token_table().read(check, body, w);
  return w;
}

std::string read_sign_in(json_check& check, json_ref const& body) {
  sign_in s;
  sign_in_table().read(check, body, s);
  return s.token;
}

void write_fields(json_out& out, core::token const& t) {
  out.key("id").string(t.id);
  out.key("role").string(core::name(t.role));
  if (!t.clusters.empty()) {
    out.key("clusters").begin_array();
    for (auto const& c : t.clusters) out.string(c);
    out.end_array();
  }
  if (t.expires != core::never) out.key("expires_ms").number(core::to_unix_ms(t.expires));
  out.key("allow_exec").boolean(t.allow_exec);
  if (t.from_file)
    out.key("from_file").boolean(true);
  else
    out.key("created_ms").number(core::to_unix_ms(t.created));
  if (!t.created_by.empty()) out.key("created_by").string(t.created_by);
  if (t.queued_max) out.key("queued_max").number(t.queued_max);
  if (t.sessions_max) out.key("sessions_max").number(t.sessions_max);
  if (t.value_bytes_max) out.key("value_bytes_max").number(t.value_bytes_max);
}

std::vector<schema::named> token_schemas() {
  auto made = fields(true);
  std::erase_if(made, [](member const& f) { return f.name == "from_file"; });
  made.push_back({"token", described(text(), "to be sent as 'Authorization: Bearer …'")});
  auto session = fields(false);
  for (auto& f : session) f.required = false;
  session.push_back({"required", described(boolean(), "whether anybody is asked who they are")});
  session.push_back({"signed_in", boolean()});
  return {{"TokenRequest", token_table().schema()},
          {"SignIn", sign_in_table().schema()},
          {"TokenView", object(fields(true))},
          {"NewToken", object(made)},
          {"TokenPage",
           object({{"tokens", array(ref("TokenView"))}, {"next_page_token", text(), optional}})},
          {"Session", object(session)}};
}

}  // namespace muster::web
