#include "server/rpc/coordination/answer_writers.hpp"

#include <system_error>
#include <utility>

namespace muster::server {

namespace {

// The engine thread writes fewer answers before a helper thread wakes up.
constexpr std::size_t many = 32;

}  // namespace

answer_writers::answer_writers(coro::engine_context& engine, unsigned helpers)
    : engine_(engine), helpers_(helpers) {}

void answer_writers::add(grpc::internal::Call const& call,
                         grpc::internal::CallOpSetInterface& operations, bool in_order) {
  if (pending_.empty()) engine_.post([this] { flush(); });
  pending_.push_back({call, &operations});
  in_order_ |= in_order;
}

void answer_writers::flush() {
  if (std::exchange(in_order_, false) || pending_.size() < many) {
    for (auto& a : pending_) a.call.PerformOps(a.operations);
    pending_.clear();
    return;
  }
  start_helpers();
  auto const shared = std::make_shared<batch>();
  shared->answers.swap(pending_);
  {
    std::lock_guard lock(mutex_);
    batch_ = shared;
  }
  work_.notify_all();
  write(*shared);
}

void answer_writers::start_helpers() try {
  while (threads_.size() < helpers_)
    threads_.emplace_back([this](std::stop_token const& stop) { help(stop); });
} catch (std::system_error const&) {
}

void answer_writers::write(batch& b) {
  for (std::size_t i; (i = b.next.fetch_add(1)) < b.answers.size();)
    b.answers[i].call.PerformOps(b.answers[i].operations);
}

void answer_writers::help(std::stop_token const& stop) {
  std::shared_ptr<batch> done;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, stop, [&] { return batch_ != done; });
      if (stop.stop_requested()) return;
      done = batch_;
    }
    write(*done);
  }
}

}  // namespace muster::server
