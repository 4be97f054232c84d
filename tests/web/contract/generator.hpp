// Generates random requests that fit /openapi.json, or nearly do. The results depend on the seed
// and on the answers seen, whose ids are reused. One thread.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/web/contract/contract.hpp"

namespace muster::web::test {

/// A request without the server's address.
struct drawn_request {
  std::string operation, method, target, body, content_type;
  std::vector<std::pair<std::string, std::string>> headers;
};

class generator {
 public:
  generator(contract& of, std::uint64_t seed) : contract_(of), random_(seed) {}

  /// Returns a request of `operation`, or of a random operation if it is empty.
  drawn_request draw(std::string_view operation = {});
  /// Returns the request with a change that usually makes it invalid.
  drawn_request spoil(drawn_request r);
  void learn(std::string const& answer);

 private:
  json::value value(json::value const& schema, int depth = 0);
  json::value fitting(json::object const& schema, int depth);
  json::value object(json::object const& schema, int depth);
  std::string text(json::object const& schema);
  std::string like(std::string const& pattern);
  std::string any_text(std::size_t characters);
  std::string id(std::string const& prefix);
  json::value wrong_value();
  void spoil_value(json::value& v);
  std::string parameter_text(json::value const& parameter);

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  template <class Range>
  auto const& one_of(Range const& values) {
    return values[below(std::size(values))];
  }

  contract& contract_;
  std::mt19937_64 random_;
  std::map<std::string, std::vector<std::string>> ids_;  // by prefix, the newest few
};

}  // namespace muster::web::test
