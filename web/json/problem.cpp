#include "web/json/problem.hpp"

#include "web/json/views_json.hpp"

namespace muster::web {

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
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
  }
  return "Unknown";
}

problem make_problem(unsigned status, muster::code code, std::string detail) {
  problem p;
  p.status = status;
  p.code = code;
  p.detail = std::move(detail);
  if (status == 429 || status == 503) p.retry_s = 1;
  return p;
}

problem to_problem(muster::status const& s) {
  return make_problem(http_status(s.code), s.code, s.message);
}

problem invalid(std::string field, std::string detail, std::string limit) {
  auto p = make_problem(400, muster::code::invalid_argument, {});
  p.detail = field.empty() ? std::move(detail) : field + ": " + detail;
  p.field = std::move(field);
  p.limit = std::move(limit);
  return p;
}

std::string to_json(problem const& p) {
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("status").number(p.status);
  out.key("title").string(reason_phrase(p.status));
  out.key("detail").string(p.detail);
  out.key("code").string(name(p.code));
  if (!p.field.empty()) out.key("field").string(p.field);
  if (!p.limit.empty()) out.key("limit").string(p.limit);
  for (auto const& [name, value] : p.counts) out.key(name).number(value);
  if (p.failure) {
    out.key("failure");
    write(out, *p.failure);
  }
  out.end_object();
  text += '\n';
  return text;
}

}  // namespace muster::web
