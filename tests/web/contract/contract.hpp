// Checks /openapi.json against the requests and answers of tests. Accepted requests and all answers
// must fit the description, and every described item must occur in a test. Per process; test thread
// only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/http_client/http_client.hpp"
#include "tests/web/contract/json_schema.hpp"
#include "web/http/route.hpp"

namespace muster::web::test {

class contract {
 public:
  static contract& instance();

  /// Returns how the exchange violates the description; empty if it does not.
  std::string breach(http_request const& asked, http_response const& answer);
  /// Returns the described items that no test has seen.
  std::vector<std::string> unseen();

  json::value const& document() const { return document_; }
  json::object const& operation(std::string_view id) const {
    return *operations_.at(std::string(id));
  }
  std::vector<route> const& routes() const { return routes_; }
  json_schema& schemas() { return schemas_; }

 private:
  contract();
  std::string request_breach(json::object const& operation, http_request const& asked,
                             request const& parsed);
  std::string answer_breach(json::object const& operation, bool head, http_response const& answer);
  std::string body_misfit(json::value const& schema, std::string_view media,
                          std::string const& text);

  std::vector<route> const routes_;
  json::value const document_;
  json_schema schemas_;
  std::map<std::string, json::object const*> operations_;
  std::map<std::string, std::set<unsigned>> statuses_;  // by operation
};

/// Returns "application/json" for "Application/JSON; charset=utf-8".
std::string media_of(std::string_view content_type);

}  // namespace muster::web::test
