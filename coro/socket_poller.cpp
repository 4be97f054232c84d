#include "coro/socket_poller.hpp"

namespace muster::coro {

socket_poller::socket_poller() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}

socket_poller::~socket_poller() {
  io_.stop();
  thread_.join();
}

}  // namespace muster::coro
