#include "launch/supervisor_pipe.hpp"

#include <boost/asio/buffer.hpp>
#include <utility>

namespace muster::launch {

namespace asio = boost::asio;

supervisor_pipe::supervisor_pipe(asio::io_context& io, file_descriptor line, callbacks c)
    : line_(io, line.release()), on_(std::move(c)) {}

void supervisor_pipe::listen() {
  line_.async_read_some(asio::buffer(&word_, 1),
                        [this](boost::system::error_code error, std::size_t) {
                          if (error == asio::error::operation_aborted) return;
                          if (error) return on_.on_gone();
                          on_.on_signal(word_);
                          listen();
                        });
}

}  // namespace muster::launch
