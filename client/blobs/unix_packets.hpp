// Packets by which processes on one host pass memory to each other, over SOCK_SEQPACKET sockets in
// Linux's abstract namespace, which Asio does not support. Not thread-safe.
//
// A request is 'G' or 'O' and a name. After 'G', the holder later reports that it has dropped the
// value; after 'O', it does not. The answer is 'A' and the name with a descriptor, or 'N' and the
// name if the value is not held. The report is 'D' and the name; the receiver must release the
// value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/process/file_descriptor.hpp"

namespace muster::detail {

struct unix_packet {
  char said = 0;
  std::string name;
  file_descriptor fd;
};

enum class packet_read { got, nothing_yet, hung_up };

file_descriptor listen_at(std::string const& socket_name, int backlog);
/// Returns an empty descriptor if the socket cannot be reached or belongs to another user; `why` is
/// then the reason.
file_descriptor connect_to(std::string const& socket_name, std::string& why);
bool is_of_same_user(int socket);

/// Sends a packet without blocking. Returns false if the other end has closed the connection or
/// does not read.
bool send_packet(int socket, char said, std::string_view name, int fd = -1);
/// Reads a packet without blocking. Returns hung_up for invalid packets.
packet_read read_packet(int socket, unix_packet& into);

}  // namespace muster::detail
