// What every benchmark is asked for, and how it reports. Rows are JSON objects; as a table they are
// printed one a line, with the names api users rely on.
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
  /// gRPC "host:port"; empty: a server and workers of its own, as always for memory and recovery.
  std::string server;
  bool start_workers = false;  // for `server`, too
  std::string function = "muster.noop";
  std::size_t closures = 1'000'000;  // memory
  int rounds = 20;                   // recovery
  std::vector<int> agents;           // barrier, kv, heartbeats
  std::vector<int> clients;          // kv: calls in flight
  int waits = 10'000;                // kv: parked at one time
  int server_pid = 0;                // of `server`, when its time and memory are wanted
  // closures, latency: how the server is spoken to
  bool tls = false, auth = false;  // one of its own; of `server` tls alone, as a session has it
  muster::tls_options files{};     // of `server`
  std::string token_file{};
  bool json = false;
};

/// One row an experiment; prints as it goes and, as JSON, an array at the end.
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
/// That of `o.server`, with workers of its own where it is told to start some.
std::unique_ptr<cluster> existing_cluster(options const& o, int workers, int credits);

void closures(options const& o, report& r);
void latency(options const& o, report& r);
void memory(options const& o, report& r);
void recovery(options const& o, report& r);
void barrier(options const& o, report& r);
void kv(options const& o, report& r);
void sessions(options const& o, report& r);
void heartbeats(options const& o, report& r);

}  // namespace muster::bench
