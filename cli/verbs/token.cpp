// muster token: manages the tokens of a server and their permissions.
#include <chrono>
#include <iostream>
#include <optional>

#include "app/access/stored_tokens.hpp"
#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/verbs/store_flags.hpp"

namespace muster::cli {
namespace {

struct token_options : server_options {
  std::vector<std::string> words;
  std::string data_dir, store, role, name;
  server::shared_store access;  // access to etcd; `store` contains the address
  std::vector<std::string> clusters;
  std::optional<duration> expires;
  bool allow_exec = false;

  /// Returns whether the command edits the stored tokens directly, without a server.
  bool stopped() const { return !data_dir.empty() || !store.empty(); }
  std::uint64_t queued_max = 0, sessions_max = 0, value_bytes_max = 0;
};

core::time_point now() {
  return std::chrono::floor<core::duration>(std::chrono::system_clock::now());
}

server::stored_tokens stored(token_options const& o) {
  if (!o.store.empty())
    return value_or_throw(server::stored_tokens::open(store_access(o.store, o.access),
                                                      MUSTER_VERSION, on_leadership_lost("token")));
  return value_or_throw(server::stored_tokens::open(o.data_dir, MUSTER_VERSION));
}

json::object row_of(core::token const& t) {
  json::object o{{"id", t.id}, {"role", core::name(t.role)}, {"allow_exec", t.allow_exec}};
  if (!t.clusters.empty()) o["clusters"] = json::array(t.clusters.begin(), t.clusters.end());
  if (t.expires != core::never) o["expires_ms"] = core::to_unix_ms(t.expires);
  o["created_ms"] = core::to_unix_ms(t.created);
  if (!t.created_by.empty()) o["created_by"] = t.created_by;
  return o;
}

json::object row_of(json::value const& t) {
  json::object o;
  for (auto const* key : {"id", "role", "allow_exec", "clusters", "expires_ms", "created_ms",
                          "created_by", "from_file", "warning"})
    if (auto const& v = field_of(t, key); !v.is_null()) o[key] = v;
  return o;
}

std::string when(std::int64_t ms) {
  if (ms == 0) return "never";
  auto const left = core::time_point(std::chrono::milliseconds(ms)) - now();
  return left.count() <= 0 ? "expired" : "in " + rounded(left);
}

void print(json::array const& rows, output_format format) {
  if (printed_as_json(format, json::object{{"tokens", rows}})) return;
  table t({"ID", "ROLE", "CLUSTERS", "EXPIRES", "EXEC", "FROM"});
  for (auto const& r : rows) {
    auto const clusters = texts_of(r, "clusters", ",");
    auto const maker = text_of(r, "created_by");
    t.add({text_of(r, "id"), text_of(r, "role"),
           clusters.empty() ? "all" : for_terminal(clusters, 40), when(number_of(r, "expires_ms")),
           is_true(r, "allow_exec") ? "yes" : "no",
           is_true(r, "from_file") ? "file"
           : maker.empty()         ? "command line"
                                   : maker});
  }
  t.print(std::cout);
}

int list(token_options const& o) {
  json::array rows;
  if (o.stopped()) {
    auto const all = stored(o);
    for (auto const& [id, t] : all.state().all()) rows.push_back(row_of(*t));
  } else {
    rest server(o.rest);
    for (auto const& t : server.all("/api/v1/tokens?", "tokens")) rows.push_back(row_of(t));
  }
  print(rows, o.output);
  return exit_ok;
}

// Prints only the token to stdout, so that scripts can capture it; everything else is printed to
// stderr.
int show(token_options const& o, json::object token, std::string const& credential,
         char const* what) {
  if (o.output == output_format::json) {
    token["token"] = credential;
    std::cout << json::serialize(token) << '\n';
    return exit_ok;
  }
  json::value const t(std::move(token));
  auto const expires = number_of(t, "expires_ms");
  std::cerr << "token " << text_of(t, "id") << " " << what << ": role " << text_of(t, "role")
            << ", " << (expires ? "expires " + when(expires) : std::string("never expires"))
            << "; the token is shown only once\n";
  if (auto const warning = text_of(t, "warning"); !warning.empty())
    std::cerr << "warning: " << for_terminal(warning) << '\n';
  std::cout << credential << '\n';
  return exit_ok;
}

int create(token_options const& o) {
  auto const role = enumerator_named<core::role>(o.role);
  if (!role)
    throw command_error(exit_usage, "--role " + (o.role.empty() ? "is missing" : o.role) +
                                        "; use viewer, submitter, worker or admin");
  if (o.stopped()) {
    server::token_request w{
        o.name,       *role,        o.clusters,     o.expires.value_or(duration{}),
        o.allow_exec, o.queued_max, o.sessions_max, o.value_bytes_max};
    auto const made = value_or_throw(stored(o).create(w, now()));
    return show(o, row_of(made.token), made.credential, "created");
  }
  json::object body{{"role", o.role}};
  if (!o.name.empty()) body["name"] = o.name;
  if (!o.clusters.empty()) body["clusters"] = json::array(o.clusters.begin(), o.clusters.end());
  if (o.expires) body["expires"] = to_string(*o.expires);
  if (o.allow_exec) body["allow_exec"] = true;
  if (o.queued_max) body["queued_max"] = o.queued_max;
  if (o.sessions_max) body["sessions_max"] = o.sessions_max;
  if (o.value_bytes_max) body["value_bytes_max"] = o.value_bytes_max;
  rest server(o.rest);
  auto const made = server.post("/api/v1/tokens", json::serialize(body));
  return show(o, row_of(made), text_of(made, "token"), "created");
}

int rotate(parsed_action const& words, token_options const& o) {
  auto const& id = words.need(0, "ID");
  if (o.stopped()) {
    auto const made = value_or_throw(stored(o).rotate(id));
    return show(o, row_of(made.token), made.credential, "has a new secret");
  }
  rest server(o.rest);
  auto const made = server.post("/api/v1/tokens/" + percent_encoded(id) + "/rotate", {});
  return show(o, row_of(made), text_of(made, "token"), "has a new secret");
}

int revoke(parsed_action const& words, token_options const& o) {
  auto const& id = words.need(0, "ID");
  if (o.stopped()) {
    if (auto const s = stored(o).revoke(id, now()); !s.ok())
      throw command_error(exit_failed, for_terminal(s.message));
  } else {
    rest server(o.rest);
    server.remove("/api/v1/tokens/" + percent_encoded(id));
  }
  std::cout << "token " << id << " is revoked\n";
  return exit_ok;
}

int run_token(token_options& o) {
  parsed_action const words("token", o.words,
                            {{"list", 0}, {"create", 0}, {"revoke", 1}, {"rotate", 1}});
  if (words.action() == "create") return create(o);
  if (words.action() == "rotate") return rotate(words, o);
  if (words.action() == "revoke") return revoke(words, o);
  return list(o);
}

}  // namespace

void add_token(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(
      app, chosen, "token", "Create, list, revoke or rotate the tokens of a server", run_token);
  add_value(*verb, "action", o->words, "create | list | revoke ID | rotate ID", "What to do");
  auto const own = [](CLI::Option* option) { option->configurable(false); };
  own(add_value(*verb, "--role", o->role, "ROLE",
                "create: viewer can read, submitter can also submit, worker can attach workers and "
                "agents, admin can do everything"));
  own(add_value(*verb, "--name", o->name, "NAME", "create: prefix of the token's id, such as ci"));
  own(add_repeated(*verb, "--cluster", o->clusters, "NAME",
                   "create: cluster for which the token is valid (default: all); may be repeated"));
  own(add_duration(*verb, "--expires", o->expires,
                   "create: time after which the token expires (default: never)"));
  own(verb->add_flag("--allow-exec", o->allow_exec,
                     "create: allow programs on workers (muster.exec)"));
  own(add_value(*verb, "--queued-max", o->queued_max, "N",
                "create: maximum number of waiting closures; 0: no limit"));
  own(add_value(*verb, "--sessions-max", o->sessions_max, "N",
                "create: maximum number of unfinished jobs, sessions and programs; 0: no limit"));
  own(add_bytes(*verb, "--value-bytes-max", o->value_bytes_max,
                "create: maximum bytes of values; 0: no limit")
          ->default_str(""));
  auto* const directory = add_value(*verb, "--data-dir", o->data_dir, "DIR",
                                    "Data directory of a stopped server (default: ask the running "
                                    "server at --url, with an admin's token)");
  own(directory);
  own(add_value(*verb, "--store", o->store, "URL",
                "etcd store of stopped servers: etcd://[USER@]HOST:2379[,HOST:2379...]/PREFIX")
          ->excludes(directory));
  add_store_access(*verb, o->access);
  add_server_options(*verb, *o);
  verb->footer(
      "create and rotate print only the token, on stdout. It cannot be printed again, because\nthe "
      "server stores only a digest. revoke also ends the streams and requests that use the token.\n"
      "Examples:\n"
      "  muster token create --role admin --data-dir /var/lib/muster/data > admin.token\n"
      "  muster token create --role admin --store etcd://10.0.0.1:2379/muster > admin.token\n"
      "  muster token create --role worker --name gpu --cluster train --expires 30d \\\n"
      "      --token-file admin.token\n"
      "  muster token list --token-file admin.token\n"
      "  muster token revoke gpu-7f3a9c --token-file admin.token\n"
      "See docs/tokens.md.");
}

}  // namespace muster::cli
