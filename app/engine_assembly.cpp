#include "app/engine_assembly.hpp"

#include <spdlog/spdlog.h>

#include <future>

#include "app/history/read_only.hpp"
#include "app/logging.hpp"

namespace muster::server {

engine_assembly::engine_assembly(configuration const& c)
    : config(c),
      clock(c.is_read_only() ? std::optional(last_written(c.history.shown)) : std::nullopt) {}

void engine_assembly::start() {
  thread_ = named_thread("engine", [this] { context_.run(); });
}

void engine_assembly::carry_out(std::function<void()> work) {
  std::promise<void> done;
  auto finished = done.get_future();
  context_.post([work = std::move(work), done = std::move(done)]() mutable {
    work();
    done.set_value();
  });
  finished.wait();
}

coro::task<void> engine_assembly::run_last(std::function<coro::task<void>()> last) {
  co_await last();
  context_.close();
}

void engine_assembly::finish(std::function<coro::task<void>()> last) {
  carry_out([&] { last_.spawn("stop", run_last(std::move(last))); });
  thread_.join();
}

void engine_assembly::add_log_event(log_event const& n) {
  log(n);
  feed(n);
}

coro::task_group::error_hook engine_assembly::on_task_error() {
  return [this](std::string_view name, std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (std::exception const& e) {
      spdlog::error("a part of the server failed, stopping part={} error=\"{}\"", name, e.what());
    }
    failed_ = true;
    request_stop();
  };
}

}  // namespace muster::server
