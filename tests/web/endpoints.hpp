// Fake ports of clusters, without listeners, up to `ports_max`. Engine thread.
#pragma once

#include <map>

#include "server/hub/cluster_endpoints.hpp"

namespace muster::web::test {

class endpoints final : public server::cluster_endpoints {
 public:
  muster::result<std::string> open(core::coordination::cluster_id c) override {
    if (open_.size() == ports_max)
      return muster::status{muster::code::resource_exhausted,
                            "no port is left for another cluster"};
    return open_[c] = "127.0.0.1:" + std::to_string(9000 + core::raw(c));
  }
  void close(core::coordination::cluster_id c) override { open_.erase(c); }
  std::string address(core::coordination::cluster_id c) const override {
    auto const at = open_.find(c);
    return at == open_.end() ? "" : at->second;
  }
  core::coordination::cluster_id main() const override { return core::coordination::cluster_id{1}; }

  static constexpr std::size_t ports_max = 4;

 private:
  std::map<core::coordination::cluster_id, std::string> open_;
};

}  // namespace muster::web::test
