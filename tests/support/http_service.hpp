// A small HTTP(S) server for tests of clients. It records requests; a function of the test answers
// them, on the server's thread. The public functions can be called from the test's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/certificates.hpp"

namespace muster::test {

struct http_seen {
  std::string method, target, body;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string path() const { return target.substr(0, target.find('?')); }
  /// Returns the undecoded value, or an empty string.
  std::string query(std::string const& name) const;
};

struct http_reply {
  unsigned status = 200;
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  enum class way {
    whole,    // the complete reply
    chunked,  // chunked encoding
    cut,      // half of the body
    hang_up,  // no reply, connection closed
    silent,   // no reply until the server stops
  } sent = way::whole;
  std::chrono::milliseconds delay{0};
};

class http_service {
 public:
  using handler = std::function<http_reply(http_seen const&)>;
  struct options {
    std::string address = "127.0.0.1";
    std::optional<certificate> tls = {};
  };

  explicit http_service(handler answer) : http_service(std::move(answer), options{}) {}
  http_service(handler answer, options o);
  ~http_service();
  http_service(http_service const&) = delete;

  std::uint16_t port() const;
  /// Returns for example "https://127.0.0.1:41234".
  std::string url() const;
  /// Returns the requests in order of arrival.
  std::vector<http_seen> seen() const;
  std::size_t connections() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Gives the replies in order; the last is repeated.
http_service::handler one_by_one(std::vector<http_reply> replies);

}  // namespace muster::test
