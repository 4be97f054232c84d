// Determines at startup whether authentication is required and creates the first admin token. Loads
// tokens from the data directory and --token-file into the gate. Owned by the app. Used only on the
// engine thread once it runs.
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

/// --agents-from: networks whose agents need no token, for all or some clusters.
class agent_networks {
 public:
  /// Parses NET, and CLUSTER=NET or CLUSTER= for clusters with their own networks. Accepts at most
  /// 64 entries of each form. Returns INVALID_ARGUMENT on failure.
  static muster::result<agent_networks> from(std::vector<std::string> const& words);

  /// Returns whether agents of any cluster are admitted from an address such as "10.0.0.3".
  bool contain(std::string_view address) const;
  std::vector<network> const& of(std::string_view cluster) const;

 private:
  std::vector<network> all_;
  std::map<std::string, std::vector<network>, std::less<>> own_;
};

class access {
 public:
  /// @param ended Ends all streams and calls that use this token.
  /// @pre All arguments outlive this object.
  access(engine_assembly& engine, data_directory& data,
         std::function<void(std::string const& token)> ended);

  server::gate& gate() { return gate_; }
  token_keeper& keeper() { return keeper_; }

  /// Sets the authentication of calls. Reports connections that were closed because of resets, and
  /// addresses that open and close too many connections. `ports` must outlive the calls.
  void guard(net::accepting_server_options& o, cluster_ports const& ports);
  /// Must be called after the data directory was opened, before requests are served.
  /// @throws start_error if the token file is unreadable, or the first admin token cannot be stored
  void begin();
  agent_admission admit_agent(grpc::ServerContext const& context, cluster_ports const& ports,
                              core::coordination::cluster_spec const& cluster, bool again);
  /// Must be called before the engine's timers are destroyed.
  void stop();

 private:
  keeper_dependencies dependencies(std::function<void(std::string const&)> ended);
  bool is_required() const;
  void read_certificates();
  void make_first_admin();
  void read_file();
  void watch_file();
  void guard_memory(net::guard_options& o);
  void report_flood(std::string const& kind, std::string const& who, std::string const& what);

  engine_assembly& engine_;
  data_directory& data_;
  server::gate gate_;
  agent_networks agents_from_;
  coro::timer deadline_, file_check_;
  token_keeper keeper_;
  std::optional<std::filesystem::file_time_type> file_seen_;
  struct told {
    std::uint64_t since = 0;
    core::time_point at{};
  };
  std::map<std::string, told> floods_;
};

}  // namespace muster::server
