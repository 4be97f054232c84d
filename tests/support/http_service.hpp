// A small HTTP(S) server for tests of clients: a function of the test answers each request, and
// what was asked is kept. It can also be slow, silent or break off, as the reply says.
//
// One thread of its own runs everything, the function too. The rest may be called from the test's
// thread at any time.
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
  /// Value of the query's `name`, as it was sent; empty when it is not there.
  std::string query(std::string const& name) const;
};

struct http_reply {
  unsigned status = 200;
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  enum class way {
    whole,    // as HTTP says
    chunked,  // without a length known before
    cut,      // half of the body, then the connection breaks
    hang_up,  // the connection breaks without an answer
    silent,   // nothing, until the server stops
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
  /// "https://127.0.0.1:41234"
  std::string url() const;
  /// In the order of arrival, for all connections together.
  std::vector<http_seen> seen() const;
  std::size_t connections() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Each call takes the next reply; the last one is given for ever.
http_service::handler one_by_one(std::vector<http_reply> replies);

}  // namespace muster::test
