// The packets by which processes of one host give each other memory, over SOCK_SEQPACKET sockets in
// Linux's abstract namespace, which Asio has no class for. No thread rules of their own.
//
// 'G' and a name asks for it, 'O' the same once: who has asked by 'G' is told when it goes. The
// answers are 'A' and the name with a descriptor, 'N' and the name: it is not here, and 'D' and the
// name: it is dropped, so whoever has taken it is to let go of it.
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

/// Listens there. Errors: std::system_error.
file_descriptor listen_at(std::string const& socket_name, int backlog);
/// Nothing: it cannot be reached, or is another user's; `why` says which.
file_descriptor connect_to(std::string const& socket_name, std::string& why);
/// Whether who is at the other end has this process's user.
bool is_of_same_user(int socket);

/// Never waits. False: the other end has hung up, or does not read.
bool send_packet(int socket, char said, std::string_view name, int fd = -1);
/// Never waits. Anything that is no such packet: hung_up.
packet_read read_packet(int socket, unix_packet& into);

}  // namespace muster::detail
