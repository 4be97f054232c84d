// The engine thread's beginning and end, and what is done there for the main thread.
#include "app/engine_run.hpp"

#include <spdlog/spdlog.h>

#include <future>

#include "app/process.hpp"

namespace muster::server {

void engine_run::start() {
  thread_ = named_thread("engine", [this] { context_.run(); });
}

void engine_run::carry_out(std::function<void()> work) {
  std::promise<void> done;
  auto finished = done.get_future();
  context_.post([work = std::move(work), done = std::move(done)]() mutable {
    work();
    done.set_value();
  });
  finished.wait();
}

coro::task_group::error_hook engine_run::on_task_error() {
  return [this](std::string_view name, std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (std::exception const& e) {
      spdlog::error("a task failed, stopping task={} error=\"{}\"", name, e.what());
    }
    failed_ = true;
    request_stop();
  };
}

}  // namespace muster::server
