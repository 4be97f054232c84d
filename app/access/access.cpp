#include "app/access/access.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "server/disk/open_file.hpp"
#include "server/hub/access/token_file.hpp"
#include "server/hub/access/token_text.hpp"
#include "server/hub/id_parsing.hpp"

namespace muster::server {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds file_check_interval{1};
// Minimum interval between reports of floods, because closed clients can reconnect immediately.
constexpr std::chrono::seconds flood_report_interval{10};

// Creates the file so that other users can never read it.
void write_secret(fs::path const& file, std::string const& text) {
  auto const fail = [&](std::string const& what) {
    throw start_error("--admin-token-file " + file.string() + ": " + what + ": " +
                      std::generic_category().message(errno));
  };
  auto const fresh = fs::path(file.string() + ".new");
  ::unlink(fresh.c_str());
  open_file const made(fresh, O_WRONLY | O_CREAT | O_EXCL);
  if (!made) fail("cannot be created");
  if (made.write(text) != 0 || made.sync() != 0 || ::rename(fresh.c_str(), file.c_str()) != 0)
    fail("cannot be written");
}

}  // namespace

muster::result<agent_networks> agent_networks::from(std::vector<std::string> const& words) {
  std::vector<std::string> all;
  std::map<std::string, std::vector<std::string>, std::less<>> own;
  for (auto const& word : words) {
    auto const equals = word.find('=');
    if (equals == 0)
      return muster::status{
          code::invalid_argument,
          "'" + word + "' has no cluster name; use CLUSTER=NET, or NET for all clusters"};
    auto& into = equals == std::string::npos ? all : own[word.substr(0, equals)];
    auto network = equals == std::string::npos ? word : word.substr(equals + 1);
    if (!network.empty()) into.push_back(std::move(network));
  }
  agent_networks n;
  auto parsed = parse_networks(all);
  if (!parsed) return parsed.error();
  n.all_ = std::move(*parsed);
  for (auto const& [cluster, texts] : own) {
    parsed = parse_networks(texts);
    if (!parsed)
      return muster::status{code::invalid_argument, cluster + "=: " + parsed.error().message};
    n.own_[cluster] = std::move(*parsed);
  }
  return n;
}

bool agent_networks::contain(std::string_view address) const {
  return any_contains(all_, address) || std::any_of(own_.begin(), own_.end(), [&](auto const& one) {
           return any_contains(one.second, address);
         });
}

std::vector<network> const& agent_networks::of(std::string_view cluster) const {
  auto const it = own_.find(cluster);
  return it == own_.end() ? all_ : it->second;
}

access::access(engine_assembly& engine, data_directory& data,
               std::function<void(std::string const& token)> ended)
    : engine_(engine),
      data_(data),
      gate_([&engine] { return engine.clock.now(); }),
      deadline_(engine.context()),
      file_check_(engine.context()),
      keeper_(gate_, dependencies(std::move(ended))) {}

keeper_dependencies access::dependencies(std::function<void(std::string const&)> ended) {
  keeper_dependencies e;
  e.now = [this] { return engine_.clock.now(); };
  e.arm = [this](core::time_point at) {
    deadline_.cancel();
    deadline_.call_at(engine_.clock.to_steady(at), [this] { keeper_.on_deadline(); });
  };
  e.tell = [this](log_event const& n) { engine_.add_log_event(n); };
  e.ended = std::move(ended);
  if (engine_.config.is_durable())
    e.write_down = [this](core::token_change const& fact) { data_.write_down(fact); };
  return e;
}

bool access::is_required() const {
  auto const& c = engine_.config;
  if (c.auth != auth_mode::automatic) return c.auth == auth_mode::on;
  return !keeper_.state().all().empty() || !c.token_file.empty() || !c.tls.roles.empty() ||
         (is_reachable(c) && !c.insecure);
}

agent_admission access::admit_agent(grpc::ServerContext const& context, cluster_ports const& ports,
                                    core::coordination::cluster_spec const& cluster, bool again) {
  if (!gate_.required() || ports.is_authorized(context)) return {};
  auto const address = address_of(ports.peer_of(context));
  static std::vector<network> const nobody;
  auto const& trusted = parse_program(cluster.name) ? nobody : agents_from_.of(cluster.name);
  return server::admit_agent(gate_, trusted, context, address, cluster.name, again);
}

void access::read_certificates() {
  token_set all;
  for (auto const& text : engine_.config.tls.roles) {
    auto const at = text.rfind('=');
    auto const role =
        at == std::string::npos ? std::nullopt : enumerator_named<core::role>(text.substr(at + 1));
    if (!role || at == 0)
      throw start_error("--tls-role " + text +
                        ": must be NAME=ROLE, where ROLE is viewer, submitter, worker or admin");
    core::token t;
    t.id = "certificate:" + text.substr(0, at);
    t.role = *role;
    all.insert_or_assign(text.substr(0, at), std::make_shared<core::token const>(std::move(t)));
  }
  gate_.allow_certificates(std::move(all));
}

void access::begin() {
  read_certificates();
  auto trusted = agent_networks::from(engine_.config.agents_from);
  if (!trusted) throw start_error("--agents-from: " + trusted.error().message);
  agents_from_ = std::move(*trusted);
  if (engine_.config.is_durable()) keeper_.restore(data_.take_tokens());
  if (!engine_.config.token_file.empty()) read_file();
  if (!is_required()) {
    if (engine_.config.auth == auth_mode::automatic) gate_.require_after_restart();
    return;
  }
  gate_.require();
  bool const looks = engine_.config.is_read_only();
  if (looks && keeper_.state().all().empty() && engine_.config.tls.roles.empty())
    throw start_error(
        "--read-only " + engine_.config.history.shown.string() +
        ": the directory contains no tokens; add --token-file FILE, or listen on 127.0.0.1");
  if (!looks && engine_.config.is_durable() && !keeper_.state().has_admin(engine_.clock.now()))
    make_first_admin();
  keeper_.start();
  if (!engine_.config.token_file.empty()) watch_file();
  spdlog::info("tokens are required known={}", keeper_.state().all().size());
  if (is_reachable(engine_.config) && !engine_.config.tls.on())
    spdlog::warn(
        "tokens cross the network unencrypted: add --tls-cert and --tls-key, see docs/tls.md");
}

void access::make_first_admin() {
  auto file = engine_.config.admin_token_file;
  if (file.empty() && !engine_.config.data_dir.empty())
    file = engine_.config.data_dir / "admin.token";
  if (file.empty())
    throw start_error(
        "--store contains no admin token yet; add --admin-token-file FILE; the server writes the "
        "first admin token to that file");
  token_request w;
  w.role = core::role::admin;
  w.allow_exec = true;
  auto const made = keeper_.create(w, nullptr);
  if (!made) throw start_error("--admin-token-file: " + made.error().message);
  write_secret(file, made->credential + "\n");
  spdlog::info("first_admin_token file={} id={}", file.string(), made->token.id);
}

void access::read_file() {
  std::error_code ec;
  auto const changed = fs::last_write_time(engine_.config.token_file, ec);
  if (file_seen_ && !ec && changed == *file_seen_) return;
  auto all = read_token_file(engine_.config.token_file);
  if (!all) {
    if (!file_seen_) throw start_error("--token-file " + all.error().message);
    if (!ec) file_seen_ = changed;
    return engine_.add_log_event(
        {core::coordination::severity::error,
         "token_file_ignored",
         {},
         {},
         all.error().message + "; the previously read tokens remain valid"});
  }
  bool const first = !file_seen_;
  file_seen_ = changed;
  keeper_.replace_file(std::move(*all));
  if (!first)
    engine_.add_log_event({core::coordination::severity::info,
                           "token_file_read",
                           {},
                           {},
                           "--token-file was read again; the server now accepts " +
                               std::to_string(keeper_.state().all().size()) +
                               (keeper_.state().all().size() == 1 ? " token" : " tokens")});
}

void access::watch_file() {
  file_check_.call_at(coro::timer::clock::now() + file_check_interval, [this] {
    read_file();
    watch_file();
  });
}

// Sets callbacks that run on the threads that accept and read connections. The callbacks use only
// the gate and data that is fixed before the first connection.
void access::guard_memory(net::guard_options& o) {
  o.memory_max = engine_.config.connections.memory_max;
  o.judge = [this](std::string const& client) {
    if (!gate_.required()) return net::standing::identified;
    return agents_from_.contain(address_of(client)) ? net::standing::admitted
                                                    : net::standing::anonymous;
  };
  o.is_token = [this](std::string_view authorization) {
    return gate_.who(bearer_of(authorization)) != nullptr;
  };
  o.is_certificate = [this](std::string const& name) { return gate_.who({}, name) != nullptr; };
  o.cut = [this](std::string const& peer, std::string const& why) {
    engine_.context().post([this, peer, why] { report_flood("connection_cut", peer, why); });
  };
}

void access::guard(net::accepting_server_options& o, cluster_ports const& ports) {
  o.admit = [this, &ports](grpc::ServerContext const& context, int needs,
                           std::string const& method) {
    return admit(gate_, context, ports, needs, method);
  };
  o.call_was_reset = [this] { gate_.note_reset(); };
  guard_memory(o.guard);
  auto const limit = std::to_string(o.resets.burst) + " in a burst and " +
                     std::to_string(o.resets.per_second) + " per second";
  o.cut = [this, limit](std::string const& peer) {
    gate_.note_cut();
    report_flood(
        "connection_cut", peer,
        "the client reset calls right after starting them and exceeded the limit of " + limit);
  };
  auto const silent = std::to_string(o.listener.waiting.silent.burst) + " in a burst and " +
                      std::to_string(o.listener.waiting.silent.per_second) + " per second";
  gate_.on_silent_flood = [this, silent](std::string const& address) {
    engine_.context().post([this, silent, address] {
      report_flood("silent_connections", address,
                   "the address opened and closed connections without sending anything and "
                   "exceeded the limit of " +
                       silent);
    });
  };
  o.listener.waiting.silent_flood = [this](std::string const& address) {
    gate_.note_silent_flood(address);
  };
}

void access::report_flood(std::string const& kind, std::string const& who,
                          std::string const& what) {
  auto& f = floods_[kind];
  auto const now = engine_.clock.now();
  ++f.since;
  if (f.at != core::time_point() && now - f.at < flood_report_interval) return;
  auto const others = std::exchange(f, {0, now}).since - 1;
  engine_.add_log_event(
      {core::coordination::severity::warning,
       kind,
       {},
       who,
       what + (others ? "; " + std::to_string(others) + " more such events since the last message"
                      : std::string())});
}

void access::stop() {
  deadline_.cancel();
  file_check_.cancel();
}

}  // namespace muster::server
