#include <gtest/gtest.h>

#include <stdexcept>

#include "client/checks.hpp"

namespace muster {
namespace {

TEST(server_addresses, have_a_host_and_a_port) {
  for (auto const* good : {"127.0.0.1:8476", "host:1", "[::1]:65535", "a:1,b:2", "unix:/run/x",
                           "unix:///run/x", "dns:///host:1"})
    EXPECT_NO_THROW(check_server_address(good)) << good;
  for (auto const* wrong : {"", "host", ":1", "host:", "host:0", "host:65536", "host:x", "::1",
                            "http://host:1", "https://host:1", "host:1/", "ho st:1", "a:1,b"})
    EXPECT_THROW(check_server_address(wrong), std::invalid_argument) << wrong;
}

TEST(server_addresses, unreachable_address_is_reported_with_the_last_cause) {
  EXPECT_EQ(unreached_reason("DNS resolution failed for nowhere:1: C-ares status is not "
                             "ARES_SUCCESS qtype=A name=nowhere is_balancer=0: Domain name not "
                             "found"),
            "its host name cannot be resolved (DNS)");
  EXPECT_EQ(unreached_reason("failed to connect to all addresses; last error: UNKNOWN: "
                             "ipv4:127.0.0.1:1: Failed to connect to remote host: Connection "
                             "refused"),
            "Connection refused");
  EXPECT_EQ(unreached_reason("failed to connect to all addresses; last error: UNKNOWN: "
                             "ipv4:127.0.0.1:8476: Peer name 127.0.0.1 is not in peer certificate"),
            "Peer name 127.0.0.1 is not in peer certificate");
  EXPECT_EQ(unreached_reason("the server says: no"), "the server says: no");
}

}  // namespace
}  // namespace muster
