#include "launch/descriptor_writer.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string>

namespace muster::launch {
namespace {

struct segment {
  int fd;
  std::string text;
  std::function<void()> written{};  // set for a mark, which contains no text
};

int write_all(segment const& s) {
  for (std::size_t done = 0; done < s.text.size();) {
    auto const n = ::write(s.fd, s.text.data() + done, s.text.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {  // another process made the descriptor non-blocking
      pollfd wait{s.fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

struct descriptor_writer::state {
  std::mutex mutex;  // protects the members below
  std::condition_variable changed;
  callbacks on;
  std::deque<segment> waiting;
  std::set<int> broken;
  std::size_t bytes = 0;
  bool was_full = false;
  bool finished = false;
  bool abandoned = false;
};

descriptor_writer::descriptor_writer(callbacks c) : state_(std::make_shared<state>()) {
  state_->on = std::move(c);
  thread_ = std::thread([s = state_] { run(s); });
}

descriptor_writer::~descriptor_writer() {
  finish();
  bool const hangs = [this] {
    std::lock_guard lock(state_->mutex);
    return state_->abandoned && state_->bytes > 0;
  }();
  if (hangs)
    thread_.detach();
  else
    thread_.join();
}

void descriptor_writer::post(int fd, std::string_view text) {
  constexpr std::size_t segment_bytes = std::size_t{64} << 10;
  std::lock_guard lock(state_->mutex);
  auto& waiting = state_->waiting;
  if (state_->abandoned || state_->broken.contains(fd)) return;
  if (!waiting.empty() && waiting.back().fd == fd && !waiting.back().written &&
      waiting.back().text.size() < segment_bytes)
    waiting.back().text += text;
  else
    waiting.push_back({fd, std::string(text)});
  state_->bytes += text.size();
  state_->was_full = state_->was_full || state_->bytes >= bytes_max;
  state_->changed.notify_one();
}

void descriptor_writer::mark(std::function<void()> written) {
  std::unique_lock lock(state_->mutex);
  if (state_->abandoned) {
    lock.unlock();
    return written();
  }
  state_->waiting.push_back({-1, {}, std::move(written)});
  state_->changed.notify_one();
}

bool descriptor_writer::full() const {
  std::lock_guard lock(state_->mutex);
  return state_->was_full;
}

void descriptor_writer::finish() {
  std::lock_guard lock(state_->mutex);
  state_->finished = true;
  state_->changed.notify_one();
}

void descriptor_writer::abandon() {
  std::lock_guard lock(state_->mutex);
  state_->abandoned = state_->finished = true;
  for (auto const& s : state_->waiting) {
    state_->bytes -= s.text.size();
    if (s.written) s.written();
  }
  state_->waiting.clear();
  state_->changed.notify_one();
}

void descriptor_writer::run(std::shared_ptr<state> const& s) {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(s->mutex);
  for (;;) {
    s->changed.wait(lock, [&s] { return s->finished || !s->waiting.empty(); });
    if (s->waiting.empty()) break;
    auto const next = std::move(s->waiting.front());
    s->waiting.pop_front();
    bool const skipped = next.written || s->broken.contains(next.fd);
    lock.unlock();
    int const error = skipped ? 0 : write_all(next);
    lock.lock();
    s->bytes -= next.text.size();
    if (next.written) next.written();
    if (error != 0) s->broken.insert(next.fd);
    if (error != 0 && !s->abandoned) s->on.on_error(next.fd, error);
    if (s->was_full && s->bytes < bytes_max / 2) {
      s->was_full = false;
      if (!s->abandoned) s->on.on_room();
    }
  }
  if (!s->abandoned) s->on.on_drained();
}

}  // namespace muster::launch
