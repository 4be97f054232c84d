// Answers accumulate in a mailbox. Only the first answer of a burst wakes the web thread.
#include "web/engine/engine_link.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "coro/engine_context.hpp"

namespace muster::web {

namespace asio = boost::asio;

bool engine_gateway::post(std::function<void(engine_services&)> work) {
  if (closed_) return false;
  return engine_.post([this, work = std::move(work)] {
    may_answer_();
    work(services_);
  });
}

void completion_queue::push(coro::function deliver) {
  if (mail.push(std::move(deliver)))
    // engine_link keeps the queue until this handler has run.
    asio::post(context, [this] { drain(); });
}

void completion_queue::drain() {
  std::vector<coro::function> ready;
  mail.drain(ready);
  for (auto& deliver : ready) deliver();
}

coro::task<void> answer_wait::until(std::chrono::steady_clock::time_point deadline) {
  timer.expires_at(deadline);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

engine_link::engine_link(asio::io_context& context, engine_gateway& engine,
                         std::chrono::milliseconds limit)
    : context_(context),
      engine_(engine),
      limit_(limit),
      queue_(std::make_shared<completion_queue>(context)) {}

// An engine thread may be about to post a wake-up, so posted functions run until no thread can use
// the context.
engine_link::~engine_link() {
  while (!queue_->mail.close_if_idle()) {
    context_.restart();
    context_.poll();
    std::this_thread::yield();
  }
}

}  // namespace muster::web
