// A server of the Echo service that accepts its connections itself.
#pragma once

#include <memory>

#include "server/net/accepting_server.hpp"
#include "tests/coro/echo_test_support.hpp"

namespace muster::net::test {

using namespace coro;
using namespace coro::test;

struct accepting_echo : echo_server {
  explicit accepting_echo(accepting_server_options const& options = {})
      : echo_server(1000, fail_test, [&options](engine_context& e, grpc::ServerBuilder& b) {
          return std::make_unique<accepting_server>(e, b, options);
        }) {
    server.add_port("127.0.0.1:0");
  }
  accepting_server& server = static_cast<accepting_server&>(*made);
};

}  // namespace muster::net::test
