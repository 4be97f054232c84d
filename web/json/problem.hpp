// What is answered when a request cannot be served: RFC 9457 problem details. Plain data, made
// anywhere on the web thread, serialised once.
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
  std::string field;     // the parameter or member that is wrong: "closures[3].args"
  std::string limit;     // the limit that was hit, with its unit
  unsigned retry_s = 0;  // > 0: Retry-After
  std::string allow;     // 405: the methods that would do
  std::string leader;    // a standby: the server that would, "host:port"; empty: not known
  std::optional<std::uint64_t> line, accepted;  // how far a partial request came
  std::optional<core::failure> failure;         // how the function ended
};

/// The HTTP status that stands for a core code.
unsigned http_status(muster::code c);
/// "Not Found"; "Unknown" for numbers that this server does not send.
std::string_view reason_phrase(unsigned status);

problem to_problem(muster::status const& s);
problem invalid(std::string field, std::string detail, std::string limit = {});
/// 422: it has the right form, and cannot be.
problem impossible(std::string field, std::string detail, std::string limit = {});
/// A schema counts characters: 400 with more than `max` of them, 422 with more bytes alone.
problem too_many_bytes(std::string field, std::string_view text, std::size_t max);
problem make_problem(unsigned status, muster::code code, std::string detail, std::string field = {},
                     std::string limit = {});

std::string to_json(problem const& p);
/// RFC 9457.
schema::json problem_schema();

}  // namespace muster::web
