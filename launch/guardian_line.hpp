// The launcher's end of the line to its guardian (guardian.hpp): which signals that one was sent,
// and that it is gone. Owned by a launcher; its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

#include "base/process/file_descriptor.hpp"

namespace muster::launch {

class guardian_line {
 public:
  struct callbacks {
    std::function<void(int signal)> on_signal;
    std::function<void()> on_gone;  // once; nothing comes after it
  };

  /// `line`: of split().
  guardian_line(boost::asio::io_context& io, file_descriptor line, callbacks c);
  /// Until the guardian is gone: there is no deadline.
  void listen();

 private:
  boost::asio::posix::stream_descriptor line_;
  callbacks on_;
  char word_ = 0;
};

}  // namespace muster::launch
