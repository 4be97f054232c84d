// The metadata server of a Google Cloud machine: who the machine is, and tokens of its service
// account. Found at GCE_METADATA_HOST or GCE_METADATA_IP, else at metadata.google.internal.
// Used by one thread at a time.
#pragma once

#include <string>

#include "launch/cluster/http/api_client.hpp"
#include "launch/cluster/http/json_place.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster::cluster {

/// A token as OAuth servers give it, kept until shortly before it expires.
class access_token {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  bool good_at(time_point now) const { return !text_.empty() && now < until_; }
  std::string const& text() const { return text_; }
  /// {"access_token": "…", "expires_in": 3599}. missing, invalid: a member, by its place.
  void take(json_place const& answer, time_point now);

 private:
  std::string text_;
  time_point until_{};
};

class google_metadata {
 public:
  google_metadata(environment_lookup const& environment, api_limits limits, time_source time);

  /// As the server writes it. missing: it does not know it; unreachable: this is no machine of
  /// Google Cloud, or what answers is not the metadata server.
  std::string get(std::string const& path);

  std::string project() { return get("project/project-id"); }
  /// "us-central1-b"
  std::string zone();
  std::string local_ip() { return get("instance/network-interfaces/0/ip"); }
  /// For Google's APIs; kept until shortly before it expires.
  std::string token();

 private:
  muster::http_response ask(std::string const& path);

  std::string base_;
  time_source time_;
  api_client client_;
  access_token token_;
};

}  // namespace muster::cluster
