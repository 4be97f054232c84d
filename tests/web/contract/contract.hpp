// What /openapi.json promises, held against what tests send and get: requests that were accepted
// fit it, and so does every answer, without anything that it does not tell. And the other way
// round: it tells nothing that no test has seen. One for the whole process; test thread only.
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

  /// What of the exchange the description does not allow; empty if all is well.
  std::string breach(http_request const& asked, http_response const& answer);
  /// What it describes and nobody has seen.
  std::vector<std::string> unseen();

  json::value const& document() const { return document_; }
  /// Of an operationId.
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
  std::map<std::string, std::set<unsigned>> statuses_;  // seen, by operation
};

/// "application/json" of "Application/JSON; charset=utf-8".
std::string media_of(std::string_view content_type);

}  // namespace muster::web::test
