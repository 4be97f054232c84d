// Client of a Google Cloud machine's metadata server, which provides the machine's properties and
// the tokens of its service account. The server is at GCE_METADATA_HOST or GCE_METADATA_IP, by
// default metadata.google.internal. Not thread-safe.
#pragma once

#include <string>

#include "launch/cluster/http/api_client.hpp"
#include "launch/cluster/http/json_place.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster::cluster {

/// An OAuth token that is cached until shortly before it expires.
class access_token {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  bool is_valid_at(time_point now) const { return !text_.empty() && now < until_; }
  std::string const& text() const { return text_; }
  /// Parses {"access_token": "…", "expires_in": 3599}.
  /// @throws cluster_error (missing or invalid) with a message that names the member
  void take(json_place const& answer, time_point now);

 private:
  std::string text_;
  time_point until_{};
};

class google_metadata {
 public:
  google_metadata(environment_lookup const& environment, api_limits limits, time_source time);

  /// @throws cluster_error with code missing if the server does not have the value, or unreachable
  ///   if there is no metadata server
  std::string get(std::string const& path);

  std::string project() { return get("project/project-id"); }
  std::string zone();
  std::string local_ip() { return get("instance/network-interfaces/0/ip"); }
  std::string token();

 private:
  muster::http_response ask(std::string const& path);

  std::string base_;
  time_source time_;
  api_client client_;
  access_token token_;
};

}  // namespace muster::cluster
