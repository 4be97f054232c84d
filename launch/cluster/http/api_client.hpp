// Asks an HTTP service about a cluster: JSON answers, a bearer token, limits on time and size, and
// trying again where that can help. Whatever goes wrong is a cluster_error that names the URL, the
// status and what the service itself says.
//
// Used by one thread at a time; blocks for `api_limits::total` at most, and what a token takes.
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

/// Bytes of one answer; a longer one is refused.
constexpr std::size_t api_answer_bytes_max = 16 * 1024 * 1024;

struct api_service {
  std::string ca_file = {};  // for https://; empty: the system's authorities
  bool verify = true;
  /// Asked before each try, so that one that was renewed meanwhile is used. Empty: no token.
  std::function<std::string()> token = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// What to do about a status, for the end of the error's line; empty: nothing known.
  std::function<std::string(unsigned status)> remedy = {};
  api_limits limits = {};
  time_source time = real_time();
};

struct api_request {
  std::string method = "GET";
  std::string url;
  std::string body = {};
  /// False: may do something twice, so it is sent once only.
  bool again = true;
  std::string content_type = "application/json";
  /// The body is not for everybody: sent over https://, or within this machine.
  bool secret = false;
};

class api_client {
 public:
  explicit api_client(api_service service);

  /// Any final status, after the tries that 429, 5xx and broken connections are worth. unreachable:
  /// no answer at all; denied: the server's certificate; invalid: the URL or the CA file, or a
  /// token that would be sent in the clear.
  muster::http_response send(api_request const& request);

  /// The JSON of a 2xx answer. 401 and 403: denied, 404 and 410: missing, 429 and 5xx:
  /// unreachable, others: invalid.
  json::value ask(api_request const& request);
  json::value get(std::string const& url) { return ask({.method = "GET", .url = url}); }

  /// The second half of ask, for who looks at the answer in between: any other status than 2xx is
  /// thrown.
  void check(api_request const& request, muster::http_response const& answer) const;
  json::value read(api_request const& request, muster::http_response const& answer) const;

 private:
  struct attempts;
  cluster_error failure(api_request const& request, muster::http_response const& answer) const;
  api_service service_;
  muster::http_client client_;
};

}  // namespace muster::cluster
