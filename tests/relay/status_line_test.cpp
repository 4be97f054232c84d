#include <gtest/gtest.h>

#include "server/relay/probe.hpp"

namespace muster::relay {
namespace {

TEST(status_line, is_parsed) {
  EXPECT_EQ(status_of_line("HTTP/1.1 200 OK\r\n"), 200u);
  EXPECT_EQ(status_of_line("HTTP/1.0 503 Service Unavailable\r\n"), 503u);
  EXPECT_EQ(status_of_line("HTTP/1.1 204\r\n"), 204u);
  EXPECT_EQ(status_of_line("HTTP/1.1 404"), 404u);
}

TEST(status_line, invalid_status_line_is_refused) {
  for (auto const* line : {"", "HTTP/1.", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000 OK",
                           "HTTP/1.1 abc OK", "HTTP/2 200 OK", "SSH-2.0-OpenSSH_9.2",
                           "HTTP/1.1x200 ", "HTTP/1.1 099 OK", "HTTP/1.1 +20 OK"})
    EXPECT_EQ(status_of_line(line), std::nullopt) << line;
}

}  // namespace
}  // namespace muster::relay
