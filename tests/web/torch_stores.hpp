// TCPStores without sockets: tests pass in the requests of clients. Engine thread.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "server/torch/torch_stores.hpp"
#include "tests/torch/torch_clients.hpp"

namespace muster::web::test {

class torch_stores final : public torch::torch_stores {
 public:
  muster::result<std::string> open(std::uint64_t cluster, std::string const&,
                                   torch::store_spec const& where) override {
    if (where.port == 1)
      return muster::status{muster::code::failed_precondition, "port 1: permission denied"};
    stores_[cluster] = std::make_unique<torch::clients>(where.early);
    return address(cluster);
  }
  bool has(std::uint64_t cluster) const override { return stores_.contains(cluster); }
  void close(std::uint64_t cluster) override { stores_.erase(cluster); }
  std::string address(std::uint64_t cluster) const override {
    return stores_.contains(cluster) ? "127.0.0.1:29500" : "";
  }
  void visit(std::uint64_t cluster, std::function<void(torch::tcp_store*)> f) override {
    auto const at = stores_.find(cluster);
    f(at == stores_.end() ? nullptr : &at->second->tcp_store);
  }

  torch::clients& of(std::uint64_t cluster) { return *stores_.at(cluster); }

 private:
  std::map<std::uint64_t, std::unique_ptr<torch::clients>> stores_;
};

}  // namespace muster::web::test
