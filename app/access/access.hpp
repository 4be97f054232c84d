// Who may come in: decides at the start whether anybody is asked, brings the tokens of the data
// directory and of --token-file to the gate, and makes the first admin's. Owned by the app. Engine
// thread, or before that runs.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "app/data_directory.hpp"
#include "app/engine_assembly.hpp"
#include "coro/timer_queue.hpp"
#include "server/hub/access/networks.hpp"
#include "server/hub/access/token_keeper.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"

namespace muster::server {

/// --agents-from: networks whose agents are let in without a token, of all clusters and of some.
class agent_networks {
 public:
  /// Words NET, and CLUSTER=NET or CLUSTER= of clusters that have their own, at most 64 of each.
  /// INVALID_ARGUMENT in one line.
  static muster::result<agent_networks> from(std::vector<std::string> const& words);

  /// Whether agents of any cluster are let in from "10.0.0.3".
  bool contain(std::string_view address) const;
  /// What counts for this cluster: its own, where it is named, else those of all.
  std::vector<network> const& of(std::string_view cluster) const;

 private:
  std::vector<network> all_;
  std::map<std::string, std::vector<network>, std::less<>> own_;
};

class access {
 public:
  /// `ended`: whatever was begun with this token ends. REQUIRES: all outlive it.
  access(engine_assembly& engine, data_directory& data,
         std::function<void(std::string const& token)> ended);

  server::gate& gate() { return gate_; }
  token_keeper& keeper() { return keeper_; }

  /// Has each call judged, and tells of connections that were cut for their resets, and of
  /// addresses that open and leave too many. `ports` outlive the calls.
  void guard(net::accepting_server_options& o, cluster_ports const& ports);
  /// After the data directory was opened, before anybody is served. start_error: the token file
  /// cannot be read, or there is no place for the first admin's token.
  void begin();
  /// See server::admit_agent.
  agent_admission admit_agent(grpc::ServerContext const& context, cluster_ports const& ports,
                              core::coordination::cluster_spec const& cluster, bool again);
  /// Before the engine's timers go.
  void stop();

 private:
  keeper_dependencies dependencies(std::function<void(std::string const&)> ended);
  bool is_required() const;
  void read_certificates();
  void make_first_admin();
  void read_file();
  void watch_file();
  void guard_memory(net::guard_options& o);
  void tell_flood(std::string const& kind, std::string const& who, std::string const& what);

  engine_assembly& engine_;
  data_directory& data_;
  server::gate gate_;
  agent_networks agents_from_;
  coro::timer deadline_, file_look_;
  token_keeper keeper_;
  std::optional<std::filesystem::file_time_type> file_seen_;
  struct told {
    std::uint64_t since = 0;  // and not told of
    core::time_point at{};
  };
  std::map<std::string, told> floods_;  // by kind, of which there are two
};

}  // namespace muster::server
