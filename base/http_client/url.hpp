// Parses `http://` and `https://` URLs.
#pragma once

#include <string>
#include <string_view>

#include "base/host_port.hpp"
#include "base/status.hpp"

namespace muster {

struct http_target {
  bool tls = false;
  std::string host, port = "80", path = "/";
  std::string authority() const {
    return host_port{host, port == (tls ? "443" : "80") ? "" : port}.text();
  }
  std::string url() const { return (tls ? "https://" : "http://") + authority(); }
};

/// @return INVALID_ARGUMENT if the URL is malformed
muster::result<http_target> parse_http_url(std::string_view url);

}  // namespace muster
