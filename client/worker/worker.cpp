#include "muster/worker.hpp"

#include "client/worker/worker_runtime.hpp"

namespace muster {

worker::worker(worker_options options) : runtime_(std::make_unique<runtime>(std::move(options))) {}

worker::~worker() = default;

void worker::raw_function(std::string name, muster::raw_function f) {
  runtime_->add({std::move(name), std::move(f), false});
}

void worker::quick_raw_function(std::string name, muster::raw_function f) {
  runtime_->add({std::move(name), std::move(f), true});
}

int worker::run() {
  return runtime_->run();
}

void worker::stop() noexcept {
  runtime_->stop();
}

}  // namespace muster
