// Options and reports of benchmarks. Rows are JSON objects. As a table, each row is a line with
// names that users may rely on.
#pragma once

#include <boost/json.hpp>
#include <memory>
#include <muster/tls_options.hpp>
#include <string>
#include <vector>

namespace muster::bench {

struct options {
  std::vector<int> workers;  // empty: the benchmark's own choice
  std::vector<int> credits;
  double seconds = 3;
  /// gRPC "host:port". If it is empty, the benchmark starts a server and workers, as memory and
  /// recovery always do.
  std::string server;
  bool start_workers = false;  // also with `server`
  std::string function = "muster.noop";
  std::size_t closures = 1'000'000;  // memory
  int rounds = 20;                   // recovery
  std::vector<int> agents;           // barrier, kv, heartbeats
  std::vector<int> clients;          // kv: calls in flight
  int waits = 10'000;                // kv: parked at one time
  int server_pid = 0;                // of `server`, to measure its CPU time and memory
  // Closures, latency: security of the connection.
  bool tls = false, auth = false;  // of a new server; with `server` only tls, as in a session
  muster::tls_options files{};     // of `server`
  std::string token_file{};
  bool json = false;
};

/// Prints one row per experiment at once, or with JSON an array at the end.
class report {
 public:
  explicit report(bool json) : json_(json) {}
  void add(boost::json::object row);
  void finish();

 private:
  bool json_;
  boost::json::array rows_;
};

class cluster;
/// Returns a cluster with the server `o.server`. Starts workers if `o.start_workers` is set.
std::unique_ptr<cluster> existing_cluster(options const& o, int workers, int credits);

void closures(options const& o, report& r);
void latency(options const& o, report& r);
void memory(options const& o, report& r);
void recovery(options const& o, report& r);
void barrier(options const& o, report& r);
void kv(options const& o, report& r);
void sessions(options const& o, report& r);
void heartbeats(options const& o, report& r);
void connections(options const& o, report& r);

}  // namespace muster::bench
