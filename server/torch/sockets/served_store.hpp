// A TCPStore with its listening socket and its clients' sockets. Used by torch_server, only on the
// store thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "coro/task.hpp"
#include "coro/task_group.hpp"
#include "server/history/log/pace.hpp"
#include "server/net/loopback_pair.hpp"
#include "server/torch/sockets/torch_server.hpp"

namespace muster::torch {

struct serving {
  serving(boost::asio::io_context& c, torch_server_options const& o);

  torch_server_options const& options;
  boost::asio::io_context& context;
  std::vector<char> piece;
  coro::task_group group;
  bool stopping = false;
};

class served_store : public std::enable_shared_from_this<served_store> {
 public:
  served_store(serving& all, std::string name, numbering early,
               boost::asio::ip::tcp::acceptor acceptor);

  /// Accepts connections until `close`.
  void start();
  /// Adds a connection that the caller has authorized, and whose rank is known.
  void adopt(file_descriptor socket, std::string peer, std::uint32_t rank);
  /// Stops accepting and closes all connections. The connections' tasks end later.
  void close();
  torch::tcp_store& tcp_store() { return tcp_store_; }

 private:
  struct client {
    client(boost::asio::ip::tcp::socket s, std::string p)
        : socket(std::move(s)), peer(std::move(p)), has_read(socket.get_executor()) {}

    boost::asio::ip::tcp::socket socket;
    std::string const peer;
    connection_id id = 0;
    std::string unsent;  // data that the socket has not accepted
    std::size_t sent = 0;
    bool writing = false;  // a task is waiting to send more data
    boost::asio::steady_timer has_read;
  };
  using client_ptr = std::shared_ptr<client>;

  coro::task<void> accept();
  coro::task<void> wait_for_place();
  void take(boost::asio::ip::tcp::socket socket, boost::asio::ip::tcp::endpoint const& peer);
  void begin(boost::asio::ip::tcp::socket socket, std::string const& peer,
             std::optional<std::uint32_t> rank);
  coro::task<void> serve(client_ptr c);
  coro::task<void> go_on(client_ptr c);
  coro::task<void> write(client_ptr c);
  void flush();
  void send(client_ptr const& c, std::string bytes);
  void tell(incident what);

  serving& all_;
  std::string const name_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer place_;  // signals that a connection was closed
  torch::tcp_store tcp_store_;
  std::unordered_map<connection_id, client_ptr> clients_;
  std::vector<connection_id> touched_, flushed_;
  history::log_event_pace pace_[4];
};

}  // namespace muster::torch
