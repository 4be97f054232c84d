// The launcher's pipe from its supervisor (supervision.hpp): reports the supervisor's signals and
// exit. A launcher owns it and uses it on its thread.
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
