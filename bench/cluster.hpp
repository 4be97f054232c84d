// The server and workers of a benchmark, as real processes of this program on free loopback ports.
// Alternatively an existing server with its own workers, of which only the address is known.
#pragma once

#include <boost/json/value.hpp>
#include <muster/session_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/http_client/http_client.hpp"
#include "bench/process.hpp"

namespace muster::bench {

/// Security of the benchmark's own server: TLS with a new certificate authority, and a required
/// token.
struct cluster_access {
  bool tls = false, auth = false;
};

class cluster {
 public:
  /// Starts `muster serve`, then `workers` times `muster worker`, and waits until all are
  /// connected.
  cluster(int workers, int credits, int slots = 1, std::vector<std::string> serve_flags = {},
          cluster_access access = {});
  /// Uses an existing server.
  cluster(std::string grpc_address, muster::tls_options tls, std::string token_file);
  ~cluster();
  cluster(cluster const&) = delete;

  std::string const& grpc() const { return grpc_; }
  /// Returns options of a session, with server, TLS and token.
  session_options session(char const* name) const;
  /// Sends a REST request to the benchmark's own server. Paths begin with "/api/…". Throws unless
  /// the status is 2xx.
  boost::json::value get(std::string const& path);
  boost::json::value post(std::string const& path, std::string body = {});
  /// Returns null for an existing server.
  process* server() { return server_ ? &*server_ : nullptr; }
  std::vector<process>& workers() { return workers_; }
  void start_worker(int credits, int slots);
  void wait_for_tasks(std::size_t connected);

 private:
  boost::json::value call(char const* method, std::string const& path, std::string body);
  std::vector<std::string> make_authority();
  std::vector<std::string> make_token();

  std::string grpc_;
  std::string http_;
  muster::tls_options tls_;
  std::string token_, token_file_;
  muster::http_client client_;
  std::string directory_;
  std::optional<process> server_;
  std::vector<process> workers_;
};

}  // namespace muster::bench
