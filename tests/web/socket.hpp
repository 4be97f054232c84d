// A blocking WebSocket client for tests. Every wait ends after ten seconds.
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

  /// Returns the status of the handshake; 101 if it succeeded.
  unsigned status() const;
  /// Returns false if the connection is closed.
  bool send(std::string const& text);
  bool send_binary(std::string const& bytes);
  /// Returns the next message; null when the connection is closed.
  boost::json::value receive();
  /// Returns the next message of this type and topic; null when the connection closes first.
  boost::json::value receive(std::string const& type, std::string const& topic = {});
  /// Returns the server's close code after the end; 0 without one.
  unsigned close_code() const;
  void drop();

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace muster::web::test
