#include "client/worker/own_stacks.hpp"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "base/process/native/frames.hpp"
#include "base/utf8.hpp"

namespace muster {

void own_stacks::end() {
  sampler_.stop();
  sampler_.join();
}

void own_stacks::take(std::uint64_t query) {
  v1::TaskStack answer;
  answer.set_query(query);
  answer.set_pid(static_cast<std::uint32_t>(::getpid()));
  if (++asked_ > asked_max) {
    answer.set_busy(true);
    return on_stack_(std::move(answer));
  }
  boost::asio::post(sampler_, [this, answer]() mutable {
    constexpr std::chrono::milliseconds look_max{300}, names_max{600};
    auto const now = std::chrono::steady_clock::now();
    auto const sample = native::sample_own(now + look_max);
    native::frame_finder finder;
    auto const text = finder.frames_of(sample, now + look_max + names_max);
    answer.set_text(shortened(to_utf8(text), text_bytes_max));
    answer.set_state(text.empty() ? v1::STACK_NOT_PYTHON : v1::STACK_NATIVE);
    on_stack_(std::move(answer));
  });
}

}  // namespace muster
