#include "client/checks.hpp"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <stdexcept>

#include "base/host_port.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

namespace muster {
namespace {

constexpr std::size_t args_bytes_max = std::size_t{48} << 20;

}  // namespace

void check_function_name(std::string_view name) {
  if (name.empty() || name.size() > 256 || !is_utf8(name))
    throw std::invalid_argument("a function name must have 1 to 256 bytes of UTF-8");
}

void check_argument_bytes(std::size_t bytes) {
  if (bytes > args_bytes_max)
    throw std::invalid_argument("the arguments have " + std::to_string(bytes) +
                                " bytes, the limit is " + std::to_string(args_bytes_max));
}

void check_callable(std::string_view display_name, std::string_view hash) {
  auto const control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (display_name.size() > 256 || !is_utf8(display_name) ||
      std::any_of(display_name.begin(), display_name.end(), control))
    throw std::invalid_argument(
        "display_name: must have 1 to 256 bytes of UTF-8 without control characters");
  if (hash.empty()) return;
  if (display_name.empty()) throw std::invalid_argument("callable: a hash needs a display_name");
  if (hash_bytes(hash).empty())
    throw std::invalid_argument("callable: must have 64 lowercase hexadecimal digits");
}

void check_server_address(std::string_view address) {
  auto const wrong = [address](std::string const& why) {
    return std::invalid_argument("'" + std::string(address) + "' " + why);
  };
  for (auto const* scheme : {"dns:", "unix:", "unix-abstract:", "ipv4:", "ipv6:", "xds:", "vsock:"})
    if (address.starts_with(scheme)) return;
  if (auto const comma = address.find(','); comma != address.npos) {
    check_server_address(address.substr(0, comma));
    return check_server_address(address.substr(comma + 1));
  }
  std::string const form = "write the gRPC address as HOST:PORT, such as 127.0.0.1:8476";
  if (address.starts_with("http://") || address.starts_with("https://"))
    throw wrong("is an HTTP address; " + form);
  if (std::any_of(address.begin(), address.end(),
                  [](unsigned char c) { return c <= 0x20 || c == '/'; }))
    throw wrong("is not an address; " + form);
  auto const at = host_port::parse(address);
  if (at.port.empty()) throw wrong("has no port; " + form);
  if (at.host.empty()) throw wrong("has no host; " + form);
  auto const port = parse_number(at.port);
  if (!port || *port < 1 || *port > 65535) throw wrong("has no port from 1 to 65535; " + form);
}

// gRPC 1.51 returns UNAVAILABLE for every cause, and prepends the address.
std::string unreached_reason(std::string_view text) {
  constexpr std::string_view no_name = "DNS resolution failed";
  constexpr std::string_view before_last = "failed to connect to all addresses; last error: ";
  if (text.starts_with(no_name)) return "its host name cannot be resolved (DNS)";
  auto const cause = text.starts_with(before_last) ? text.rfind(": ") : text.npos;
  return std::string(cause == text.npos ? text : text.substr(cause + 2));
}

std::string hash_bytes(std::string_view digits) {
  if (digits.size() != 64 || digits.find_first_not_of("0123456789abcdef") != digits.npos) return {};
  return absl::HexStringToBytes({digits.data(), digits.size()});
}

std::string in_ms(std::chrono::milliseconds t) {
  return std::to_string(t.count()) + " ms";
}

}  // namespace muster
