// Error responses in the form of RFC 9457 problem details.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/api/model.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

struct problem {
  unsigned status = 500;
  muster::code code = muster::code::internal;
  std::string detail;
  std::string field;
  std::string limit;                            // exceeded limit, including the unit
  unsigned retry_s = 0;                         // value of Retry-After; 0 omits the header
  std::string allow;                            // allowed methods of a 405 response
  std::string leader;                           // "host:port" of the leader; can be empty
  std::optional<std::uint64_t> line, accepted;  // progress of a partially accepted request
  std::optional<core::failure> failure;         // error that the user's function raised
};

unsigned http_status(muster::code c);
/// Returns "Unknown" for a status that this server never sends.
std::string_view reason_phrase(unsigned status);

problem to_problem(muster::status const& s);
problem invalid(std::string field, std::string detail, std::string limit = {});
/// Returns 422: the value is well-formed but impossible.
problem impossible(std::string field, std::string detail, std::string limit = {});
/// Returns 400 for more than `max` characters, and 422 if only the bytes exceed `max`.
problem too_many_bytes(std::string field, std::string_view text, std::size_t max);
problem make_problem(unsigned status, muster::code code, std::string detail, std::string field = {},
                     std::string limit = {});

std::string to_json(problem const& p);
schema::json problem_schema();

}  // namespace muster::web
