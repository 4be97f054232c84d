#include "web/server/framing.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster::web {
namespace {

namespace http = boost::beast::http;

constexpr auto header = "Transfer-Encoding";

template <class Take>
void for_each_coding(http::fields const& head, Take take) {
  auto const [begin, end] = head.equal_range(http::field::transfer_encoding);
  for (auto line = begin; line != end; ++line) {
    std::string_view rest(line->value().data(), line->value().size());
    while (!rest.empty()) {
      auto const comma = std::min(rest.find(','), rest.size());
      auto one = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      auto const first = std::min(one.find_first_not_of(" \t"), one.size());
      one = one.substr(first, one.find_last_not_of(" \t") + 1 - first);
      if (!one.empty()) take(one);
    }
  }
}

}  // namespace

std::optional<problem> check_framing(http::fields const& head, bool is_http_1_0, bool in_chunks) {
  if (head.count(http::field::transfer_encoding) == 0) return {};
  if (is_http_1_0) return invalid(header, "HTTP/1.0 does not support this header");
  if (head.count(http::field::content_length) > 0)
    return invalid(header, "cannot be combined with Content-Length");
  std::size_t codings = 0, chunked = 0;
  bool ends_chunked = false;
  for_each_coding(head, [&](std::string_view coding) {
    ends_chunked = lower(coding) == "chunked";
    ++codings;
    chunked += ends_chunked ? 1 : 0;
  });
  if (!in_chunks || !ends_chunked || chunked > 1)
    return invalid(header, "expected 'chunked' once, as the last coding");
  if (codings > 1)
    return make_problem(501, muster::code::unimplemented,
                        "Transfer-Encoding: only 'chunked' is supported", header);
  return {};
}

bool is_websocket_key(std::string_view key) {
  constexpr std::size_t digits = 22;  // base64 digits before two padding characters
  return key.size() == digits + 2 && key.ends_with("==") &&
         std::all_of(key.begin(), key.begin() + digits, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '+' || c == '/';
         });
}

}  // namespace muster::web
