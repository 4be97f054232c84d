// A proxy of an etcd member that can lag behind. It answers lists of keys with an earlier revision,
// as members did before the fix of etcd issue 20418. Uses its own threads.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "server/journal/etcd/client.hpp"

namespace grpc {
class Server;
}

namespace muster::test {

class lagging_member {
 public:
  /// @param host The real member's "host:port", without TLS.
  explicit lagging_member(std::string const& host);
  ~lagging_member();

  std::string const& host() const { return host_; }
  std::int64_t revision() const;
  void fall_behind(std::int64_t revision) { behind_ = revision; }
  void catch_up() { behind_ = 0; }
  /// Returns how many lists of keys were answered with an earlier revision.
  int old_answers() const { return old_answers_; }

 private:
  struct services;

  std::atomic<std::int64_t> behind_ = 0;
  std::atomic<int> old_answers_ = 0;
  std::unique_ptr<services> services_;
  std::unique_ptr<grpc::Server> server_;
  std::string host_;
};

}  // namespace muster::test
