// The launcher's pipe from its supervisor (supervision.hpp): signals that the supervisor received,
// and its exit. Owned by a launcher and used on its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

#include "base/process/file_descriptor.hpp"

namespace muster::launch {

class supervisor_pipe {
 public:
  struct callbacks {
    std::function<void(int signal)> on_signal;
    std::function<void()> on_gone;  // called once, as the last callback
  };

  supervisor_pipe(boost::asio::io_context& io, file_descriptor line, callbacks c);
  void listen();

 private:
  boost::asio::posix::stream_descriptor line_;
  callbacks on_;
  char word_ = 0;
};

}  // namespace muster::launch
