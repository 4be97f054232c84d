// Queries an HTTP service about a cluster, with JSON answers, a bearer token, retries, and limits
// on time and size. Errors are cluster_error with the URL, the status and the service's message.
//
// Not thread-safe. Blocks for at most `api_limits::total` plus the time to get a token.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/http_client/http_client.hpp"
#include "launch/cluster/json_text.hpp"
#include "muster/api_limits.hpp"
#include "muster/cluster_error.hpp"
#include "muster/time_source.hpp"

namespace muster::cluster {

constexpr std::size_t api_answer_bytes_max = 16 * 1024 * 1024;

struct api_service {
  std::string ca_file = {};  // CA file for https://; if empty, the system's CAs are used
  bool verify = true;
  /// Called before each attempt, so that the client uses renewed tokens. If empty, the client sends
  /// no token.
  std::function<std::string()> token = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Returns a hint, which can be empty, for fixing an error with this status. The error ends with
  /// the hint.
  std::function<std::string(unsigned status)> remedy = {};
  api_limits limits = {};
  time_source time = real_time();
};

struct api_request {
  std::string method = "GET";
  std::string url;
  std::string body = {};
  /// If false, the client sends the request only once.
  bool again = true;
  std::string content_type = "application/json";
  /// If true, the body is secret, and the client sends it only over https:// or to this machine.
  bool secret = false;
};

class api_client {
 public:
  explicit api_client(api_service service);

  /// Returns the final answer with any status, after retries for 429, 5xx and lost connections.
  /// @throws cluster_error with code unreachable if there is no answer, denied if the server
  ///   certificate is rejected, or invalid if the URL or the CA file is invalid or the token would
  ///   be sent unencrypted
  muster::http_response send(api_request const& request);

  /// Returns the JSON of a 2xx answer.
  /// @throws cluster_error with code denied for 401 and 403, missing for 404 and 410, unreachable
  ///   for 429 and 5xx, or invalid for other statuses
  json::value ask(api_request const& request);
  json::value get(std::string const& url) { return ask({.method = "GET", .url = url}); }

  /// Checks the status of an answer as ask() does.
  void check(api_request const& request, muster::http_response const& answer) const;
  json::value read(api_request const& request, muster::http_response const& answer) const;

 private:
  struct attempts;
  cluster_error failure(api_request const& request, muster::http_response const& answer) const;
  api_service service_;
  muster::http_client client_;
};

}  // namespace muster::cluster
