// Reads and writes concurrently; when one direction ends, the other ends as well.
#include "client/link/server_stream.hpp"

#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "client/link/server_list.hpp"

namespace muster {

server_stream::server_stream(client_engine& engine, std::string const& servers,
                             tls_options const& tls, std::string const& token, char const* method,
                             stream_side& side)
    : servers_(servers),
      server_(chosen_server(servers)),
      channel_(make_channel(server_, tls)),
      method_(method),
      side_(side),
      call_(engine.context()),
      pending_(engine.context()) {
  add_token(call_.context(), token);
}

coro::task<grpc::Status> server_stream::run() {
  using namespace boost::asio::experimental::awaitable_operators;
  // Waiting for this server would delay trying the next server.
  if (is_list(servers_)) call_.context().set_wait_for_ready(false);
  grpc::GenericStub stub(channel_);
  auto prepare = [&stub, this](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub.PrepareCall(context, method_, queue);
  };
  bool const started = co_await call_.start(prepare);
  if (started) {
    side_.connected();
    auto reading = read_all();
    auto writing = write_all();
    co_await (std::move(reading) && std::move(writing));
  }
  auto status = co_await call_.finish();
  if (!answered_) pass_over(servers_, server_);
  co_return status;
}

coro::task<void> server_stream::read_all() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  for (;;) {
    bool const got = co_await call_.read(read_);
    if (!got) break;
    answered_ = true;
    if (violation_.empty()) violation_ = side_.take(read_);
    if (!violation_.empty()) call_.cancel();
    // Responses to the message are written before the next read.
    co_await boost::asio::post(boost::asio::use_awaitable);
  }
  input_ended_ = true;
  side_.input_ended();
  pending_.set();
}

coro::task<void> server_stream::write_all() {
  using next = stream_side::next;
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  while (!input_ended_) {
    auto const what = side_.next_message(written_);
    if (what == next::message) {
      bool const sent = co_await call_.write(written_);
      if (!sent) co_return;  // the reader gets the same error
    } else if (what == next::half_close) {
      co_await call_.writes_done();
      co_return;
    } else {
      co_await pending_.wait();  // no deadline is needed, because wake() is called for each message
    }
  }
}

}  // namespace muster
