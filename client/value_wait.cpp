#include "client/value_wait.hpp"

#include <utility>

namespace muster::detail {
namespace {

thread_local wait_start* waits_of_thread = nullptr;

}  // namespace

wait_recording_scope::wait_recording_scope(wait_start& into)
    : before_(std::exchange(waits_of_thread, &into)) {}

wait_recording_scope::~wait_recording_scope() {
  waits_of_thread = before_;
}

value_wait::value_wait() {
  if (waits_of_thread) waits_of_thread->store(std::chrono::steady_clock::now());
}

value_wait::~value_wait() {
  if (waits_of_thread) waits_of_thread->store({});
}

}  // namespace muster::detail
