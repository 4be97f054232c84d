// muster token: who may ask the server, and for what.
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>

#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/verbs/store_flags.hpp"
#include "server/app/doors/stored_tokens.hpp"

namespace muster::cli {
namespace {

struct options : server_options {
  std::vector<std::string> words;
  std::string data_dir, store, role, name;
  server::shared_store access;  // how etcd is reached; `where` is in `store`
  std::vector<std::string> clusters;
  std::optional<duration> expires;
  bool allow_exec = false;

  /// Without a server, where it keeps them.
  bool stopped() const { return !data_dir.empty() || !store.empty(); }
  std::uint64_t queued_max = 0, sessions_max = 0, value_bytes_max = 0;
};

core::time_point now() {
  return std::chrono::floor<core::duration>(std::chrono::system_clock::now());
}

template <class T>
T value_or_throw(muster::result<T> r) {
  if (!r)
    throw command_error(r.error().code == code::failed_precondition ? exit_usage : exit_failed,
                        for_terminal(r.error().message));
  return std::move(*r);
}

[[noreturn]] void lead_is_over(std::string const& why) {
  std::cerr << "muster token: broken off, since " << why << std::endl;
  ::_exit(exit_failed);
}

server::stored_tokens stored(options const& o) {
  if (!o.store.empty())
    return value_or_throw(
        server::stored_tokens::open(store_access(o.store, o.access), MUSTER_VERSION, lead_is_over));
  return value_or_throw(server::stored_tokens::open(o.data_dir, MUSTER_VERSION));
}

/// Of a token as the server, or where it keeps them, tells it.
struct row {
  std::string id, role, clusters, created_by;
  std::int64_t expires_ms = 0, created_ms = 0;
  bool allow_exec = false, from_file = false;
};

row row_of(core::token const& t) {
  row r{t.id, std::string(core::name(t.role)), {}, t.created_by};
  for (auto const& c : t.clusters) r.clusters += (r.clusters.empty() ? "" : ",") + c;
  if (t.expires != core::never) r.expires_ms = core::to_unix_ms(t.expires);
  r.created_ms = core::to_unix_ms(t.created);
  r.allow_exec = t.allow_exec;
  return r;
}

row row_of(json::value const& t) {
  row r{text_of(t, "id"), text_of(t, "role"), {}, text_of(t, "created_by")};
  if (auto const* all = field_of(t, "clusters").if_array())
    for (auto const& c : *all)
      if (c.is_string()) r.clusters += (r.clusters.empty() ? "" : ",") + std::string(c.as_string());
  r.expires_ms = number_of(t, "expires_ms");
  r.created_ms = number_of(t, "created_ms");
  r.allow_exec = field_of(t, "allow_exec") == json::value(true);
  r.from_file = field_of(t, "from_file") == json::value(true);
  return r;
}

json::object as_json(row const& r) {
  json::object o{{"id", r.id}, {"role", r.role}, {"allow_exec", r.allow_exec}};
  if (!r.clusters.empty()) {
    json::array all;
    for (std::size_t at = 0; at <= r.clusters.size();) {
      auto const end = std::min(r.clusters.find(',', at), r.clusters.size());
      all.emplace_back(r.clusters.substr(at, end - at));
      at = end + 1;
    }
    o["clusters"] = std::move(all);
  }
  if (r.expires_ms > 0) o["expires_ms"] = r.expires_ms;
  if (r.created_ms > 0) o["created_ms"] = r.created_ms;
  if (!r.created_by.empty()) o["created_by"] = r.created_by;
  if (r.from_file) o["from_file"] = true;
  return o;
}

// From now: "in 29 d", "expired".
std::string when(std::int64_t ms) {
  if (ms == 0) return "never";
  auto const left = core::time_point(std::chrono::milliseconds(ms)) - now();
  return left.count() <= 0 ? "expired" : "in " + rounded(left);
}

void print(std::vector<row> const& rows, output_format format) {
  if (format == output_format::json) {
    json::array all;
    for (auto const& r : rows) all.push_back(as_json(r));
    std::cout << json::serialize(json::object{{"tokens", std::move(all)}}) << '\n';
    return;
  }
  table t({{"ID"}, {"ROLE"}, {"CLUSTERS"}, {"EXPIRES"}, {"EXEC"}, {"FROM"}});
  for (auto const& r : rows)
    t.add({r.id, r.role, r.clusters.empty() ? "all" : for_terminal(r.clusters, 40),
           when(r.expires_ms), r.allow_exec ? "yes" : "no",
           r.from_file            ? "file"
           : r.created_by.empty() ? "command line"
                                  : r.created_by});
  t.print(std::cout);
}

int list(action_words const& words, options const& o) {
  words.at_most(0);
  std::vector<row> rows;
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

// The token alone on stdout, so that it can go into a file or a variable; the rest on stderr.
int show(options const& o, row const& r, std::string const& credential, char const* what) {
  if (o.output == output_format::json) {
    auto all = as_json(r);
    all["token"] = credential;
    std::cout << json::serialize(all) << '\n';
    return exit_ok;
  }
  std::cerr << "token " << r.id << " " << what << ": a " << r.role << "'s, "
            << (r.expires_ms ? "expires " + when(r.expires_ms) : std::string("never expires"))
            << "; it is shown this once\n";
  std::cout << credential << '\n';
  return exit_ok;
}

int create(action_words const& words, options const& o) {
  words.at_most(0);
  auto const role = core::parse_role(o.role);
  if (!role)
    throw command_error(exit_usage, "--role " + (o.role.empty() ? "is missing" : o.role) +
                                        ": viewer, submitter, worker or admin");
  if (o.stopped()) {
    server::wanted_token w{
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

int rotate(action_words const& words, options const& o) {
  words.at_most(1);
  auto const& id = words.need(0, "ID");
  if (o.stopped()) {
    auto const made = value_or_throw(stored(o).rotate(id));
    return show(o, row_of(made.token), made.credential, "has another secret");
  }
  rest server(o.rest);
  auto const made = server.post("/api/v1/tokens/" + percent_encoded(id) + "/rotate", {});
  return show(o, row_of(made), text_of(made, "token"), "has another secret");
}

int revoke(action_words const& words, options const& o) {
  words.at_most(1);
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

int run(options& o) {
  action_words const words("token", o.words, {"list", "create", "revoke", "rotate"});
  if (words.action() == "create") return create(words, o);
  if (words.action() == "rotate") return rotate(words, o);
  if (words.action() == "revoke") return revoke(words, o);
  return list(words, o);
}

}  // namespace

void add_token(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "token", "Make, list, revoke or rotate the tokens of a server", run);
  add_action_words(*verb, o->words, "create | list | revoke ID | rotate ID", "What to do");
  auto const own = [](CLI::Option* option) { option->configurable(false); };
  own(add_value(*verb, "--role", o->role, "ROLE",
                "create: viewer looks, submitter submits too, worker attaches workers and "
                "agents, admin may everything"));
  own(add_value(*verb, "--name", o->name, "NAME", "create: begins its id, such as ci"));
  own(add_repeated(*verb, "--cluster", o->clusters, "NAME",
                   "create: good for this one alone; may be repeated"));
  own(add_duration(*verb, "--expires", o->expires, "create: good for so long; else for ever"));
  own(verb->add_flag("--allow-exec", o->allow_exec,
                     "create: may have workers run programs (muster.exec)"));
  own(add_value(*verb, "--queued-max", o->queued_max, "N",
                "create: closures that wait; 0: no limit"));
  own(add_value(*verb, "--sessions-max", o->sessions_max, "N",
                "create: unfinished jobs and sessions; 0: no limit"));
  own(add_bytes(*verb, "--value-bytes-max", o->value_bytes_max,
                "create: bytes of values; 0: no limit")
          ->default_str(""));
  auto* const directory =
      add_value(*verb, "--data-dir", o->data_dir, "DIR",
                "Of a server that is stopped; without it a running one is asked at --url, "
                "with an admin's token");
  own(directory);
  own(add_value(*verb, "--store", o->store, "URL",
                "The same in etcd, of servers that are all stopped: "
                "etcd://[USER@]HOST:2379[,HOST:2379...]/PREFIX")
          ->excludes(directory));
  add_store_access(*verb, o->access);
  add_server_options(*verb, *o);
  verb->footer(
      "create and rotate print the token alone on stdout, this once: the server keeps a digest.\n"
      "A revoked token ends at once, with the streams and requests that were begun with it.\n"
      "Examples:\n"
      "  muster token create --role admin --data-dir /var/lib/muster > admin.token\n"
      "  muster token create --role admin --store etcd://10.0.0.1:2379/muster > admin.token\n"
      "  muster token create --role worker --name gpu --cluster train --expires 30d \\\n"
      "      --token-file admin.token\n"
      "  muster token list --token-file admin.token\n"
      "  muster token revoke gpu-7f3a9c --token-file admin.token\n"
      "See docs/security.md.");
}

}  // namespace muster::cli
