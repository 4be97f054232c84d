// One server that acts as the metadata server and as Google's APIs.
#pragma once

#include "launch/cluster/http/google_metadata.hpp"
#include "tests/cluster/http/fixture.hpp"

namespace muster::testing {

class google : public ::testing::Test {
 protected:
  google() {
    says("project/project-id", "my-project");
    says("instance/zone", "projects/123/zones/us-central1-b");
    says("instance/network-interfaces/0/ip", "10.128.1.2");
    says("instance/service-accounts/default/token",
         R"({"access_token":"machine-token","expires_in":3600,"token_type":"Bearer"})");
  }

  void says(std::string const& path, std::string const& value) {
    reply("/computeMetadata/v1/" + path, {200, value, {{"Metadata-Flavor", "Google"}}});
  }
  /// Replies are given in order; the last is repeated.
  void reply(std::string const& target, http_reply const& r) { replies(target, {r}); }
  void replies(std::string const& target, std::vector<http_reply> all) {
    std::lock_guard const lock(mutex_);
    by_target_[target] = one_by_one(std::move(all));
  }

  environment_lookup machine(std::map<std::string, std::string> more = {}) {
    more.emplace("GCE_METADATA_HOST", "127.0.0.1:" + std::to_string(server_.port()));
    return environment(std::move(more));
  }
  std::string url() const { return server_.url(); }

  std::size_t asked(std::string const& beginning) const {
    std::size_t n = 0;
    for (auto const& s : server_.seen()) n += s.target.starts_with(beginning);
    return n;
  }
  http_seen last() const { return server_.seen().back(); }

  still_time time_;
  std::mutex mutex_;  // protects the member below
  std::map<std::string, http_service::handler> by_target_;
  http_service server_{[this](http_seen const& s) {
    std::lock_guard const lock(mutex_);
    auto const found = by_target_.find(s.target);
    if (found != by_target_.end()) return found->second(s);
    return http_reply{
        404, R"({"error":{"message":"no )" + s.target + R"("}})", {{"Metadata-Flavor", "Google"}}};
  }};
};

}  // namespace muster::testing
