#include "web/json/problem.hpp"

#include <algorithm>

#include "base/no_room.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

namespace {

constexpr std::pair<unsigned, std::string_view> reason_phrases[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

schema::json schema_of_codes() {
  std::vector<std::string_view> codes;
  for (int c = 1; c <= 16; ++c)
    if (c != 15) codes.push_back(name(static_cast<code>(c)));  // DATA_LOSS is never sent
  return schema::one_of(codes);
}

void problem_members(member_list const& m, problem const& p) {
  m.json(
      "status", [] { return schema::integer(400, 599); },
      [&p](json_out& out) { out.number(p.status); });
  m("title", reason_phrase(p.status));
  m("detail", p.detail);
  m.json(
      "code", schema_of_codes, [&p](json_out& out) { out.string(name(p.code)); },
      "gRPC status name");
  m.some("field", p.field, "the invalid parameter or member, such as closures[3].args");
  m.some("limit", p.limit, "the limit that was exceeded, with its unit");
  m.some("leader", p.leader, "address of the leader (host:port), if a standby answered");
  m.some("line", p.line, "number of the first NDJSON line that was not accepted");
  m.some("accepted", p.accepted, "number of closures accepted before this line");
  m.some("failure", p.failure);
}

}  // namespace

unsigned http_status(muster::code c) {
  using muster::code;
  switch (c) {
    case code::ok:
      return 200;
    case code::invalid_argument:
    case code::out_of_range:
      return 400;
    case code::unauthenticated:
      return 401;
    case code::permission_denied:
      return 403;
    case code::not_found:
      return 404;
    case code::already_exists:
    case code::failed_precondition:
    case code::cancelled:
    case code::aborted:
      return 409;
    case code::resource_exhausted:
      return 429;
    case code::unknown:
    case code::internal:
      return 500;
    case code::unimplemented:
      return 501;
    case code::unavailable:
      return 503;
    case code::deadline_exceeded:
      return 504;
  }
  return 500;
}

std::string_view reason_phrase(unsigned status) {
  for (auto const& [known, phrase] : reason_phrases)
    if (known == status) return phrase;
  return "Unknown";
}

problem make_problem(unsigned status, muster::code code, std::string detail, std::string field,
                     std::string limit) {
  problem p;
  p.status = status;
  p.code = code;
  p.detail = std::move(detail);
  p.field = std::move(field);
  p.limit = std::move(limit);
  if (status == 429 || status == 503 || status == 507) p.retry_s = 1;
  return p;
}

problem to_problem(muster::status const& s) {
  auto const plain = http_status(s.code);
  // An error with a field describes the state of a resource, not a server fault.
  auto const status = is_no_room(s) ? 507 : plain == 500 && !s.field.empty() ? 409 : plain;
  return make_problem(status, s.code, s.message, s.field,
                      s.limit == 0 ? std::string() : std::to_string(s.limit));
}

problem invalid(std::string field, std::string detail, std::string limit) {
  if (!field.empty()) detail = field + ": " + detail;
  return make_problem(400, muster::code::invalid_argument, std::move(detail), std::move(field),
                      std::move(limit));
}

problem impossible(std::string field, std::string detail, std::string limit) {
  auto p = invalid(std::move(field), std::move(detail), std::move(limit));
  p.status = 422;
  return p;
}

problem too_many_bytes(std::string field, std::string_view text, std::size_t max) {
  auto const limit = std::to_string(max);
  auto p = impossible(std::move(field),
                      "has " + std::to_string(text.size()) + " bytes, the limit is " + limit,
                      limit + " bytes");
  auto const begins = [](char c) { return (c & 0xc0) != 0x80; };
  if (std::count_if(text.begin(), text.end(), begins) > static_cast<std::ptrdiff_t>(max))
    p.status = 400;
  return p;
}

std::string to_json(problem const& p) {
  return object_line([&p](member_list const& m) { problem_members(m, p); });
}

schema::json problem_schema() {
  return schema_of_members<problem_members>();
}

}  // namespace muster::web
