#include "server/net/proxied/proxy_header.hpp"

#include <algorithm>
#include <utility>

namespace muster::net {
namespace {

namespace ip = boost::asio::ip;
using ip::tcp;

constexpr std::string_view signature("\r\n\r\n\0\r\nQUIT\n", proxy_signature_bytes);
constexpr std::size_t head_bytes = 16;
constexpr unsigned version_2 = 0x20, command_local = 0, command_proxy = 1;
constexpr unsigned family_inet = 1, family_inet6 = 2, families = 3;
constexpr unsigned transport_stream = 1, transports = 2;

unsigned byte(std::string_view s, std::size_t at) {
  return static_cast<unsigned char>(s[at]);
}

unsigned short number(std::string_view s, std::size_t at) {
  return static_cast<unsigned short>(byte(s, at) * 256U + byte(s, at + 1));
}

// Returns the source address. The block contains both addresses, then both ports.
template <class Address>
tcp::endpoint source(std::string_view addresses) {
  typename Address::bytes_type bytes;
  std::copy_n(addresses.begin(), bytes.size(), bytes.begin());
  return {Address(bytes), number(addresses, 2 * bytes.size())};
}

bool is_loopback(ip::address const& a) {
  bool const mapped = a.is_v6() && a.to_v6().is_v4_mapped();
  return mapped ? ip::make_address_v4(ip::v4_mapped, a.to_v6()).is_loopback() : a.is_loopback();
}

proxy_header wrong(std::string problem) {
  proxy_header h{proxy_header::state::wrong};
  h.problem = std::move(problem);
  return h;
}

void append(std::string& text, ip::address const& a, bool as_v6) {
  auto const put = [&text](auto const& bytes) { text.append(bytes.begin(), bytes.end()); };
  if (!as_v6) return put(a.to_v4().to_bytes());
  put((a.is_v6() ? a.to_v6() : ip::make_address_v6(ip::v4_mapped, a.to_v4())).to_bytes());
}

}  // namespace

tcp::endpoint behind(tcp::endpoint const& relay, proxy_header const& header) {
  bool const elsewhere =
      header.client && is_loopback(header.client->address()) && !is_loopback(relay.address());
  return header.client && !elsewhere ? *header.client : relay;
}

proxy_header read_proxy_header(std::string_view said) {
  auto const compared = std::min(said.size(), signature.size());
  if (said.substr(0, compared) != signature.substr(0, compared)) return {};
  if (said.size() < head_bytes) return {proxy_header::state::partial, head_bytes};
  auto const version = byte(said, 12) & 0xF0U, command = byte(said, 12) & 0x0FU;
  auto const family = byte(said, 13) >> 4U, transport = byte(said, 13) & 0x0FU;
  if (version != version_2) return wrong("its version is not 2");
  if (command != command_local && command != command_proxy) return wrong("its command is unknown");
  if (family > families || transport > transports) return wrong("its family is unknown");
  std::size_t const length = number(said, 14), all = head_bytes + length;
  if (all > proxy_header_bytes_max)
    return wrong("it has " + std::to_string(all) + " bytes, the limit is " +
                 std::to_string(proxy_header_bytes_max));
  if (said.size() < all) return {proxy_header::state::partial, all};
  proxy_header h{proxy_header::state::whole, all};
  if (command == command_local || transport != transport_stream) return h;
  auto const addresses = said.substr(head_bytes, length);
  constexpr std::size_t inet_bytes = 12, inet6_bytes = 36;
  if (addresses.size() < (family == family_inet    ? inet_bytes
                          : family == family_inet6 ? inet6_bytes
                                                   : 0))
    return wrong("the header is too short to contain its addresses");
  if (family == family_inet) h.client = source<ip::address_v4>(addresses);
  if (family == family_inet6) h.client = source<ip::address_v6>(addresses);
  return h;
}

std::string write_proxy_header(tcp::endpoint const& client, tcp::endpoint const& here) {
  bool const v6 = client.address().is_v6() || here.address().is_v6();
  std::string addresses;
  append(addresses, client.address(), v6);
  append(addresses, here.address(), v6);
  for (unsigned const port : {client.port(), here.port()}) {
    addresses += static_cast<char>(port >> 8U);
    addresses += static_cast<char>(port & 0xFFU);
  }
  std::string header(signature);
  header += static_cast<char>(version_2 | command_proxy);
  header += static_cast<char>((v6 ? family_inet6 : family_inet) << 4U | transport_stream);
  header += '\0';
  header += static_cast<char>(addresses.size());
  return header + addresses;
}

}  // namespace muster::net
