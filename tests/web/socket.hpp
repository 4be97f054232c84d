// A WebSocket client for tests: plain interface, every wait limited to ten seconds.
#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <string>

namespace muster::web::test {

class socket {
 public:
  struct options {
    std::string origin;
    std::string token;
    std::string cookie;
    std::string protocol = "muster.v1";
    int receive_buffer = 0;
  };

  explicit socket(unsigned short port) : socket(port, options{}) {}
  socket(unsigned short port, options const& o);
  ~socket();
  socket(socket const&) = delete;

  /// 101, or what the handshake was answered.
  unsigned status() const;
  /// False when the connection is gone.
  bool send(std::string const& text);
  bool send_binary(std::string const& bytes);
  /// The next message; null when the connection ended.
  boost::json::value receive();
  /// The next message of this type (and topic); null when the connection ended first.
  boost::json::value receive(std::string const& type, std::string const& topic = {});
  /// After the end: the close code the server gave, 0 without one.
  unsigned close_code() const;
  void drop();

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace muster::web::test
