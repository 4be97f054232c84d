#include "client/programs/uploads.hpp"

#include <algorithm>
#include <chrono>

#include "client/log_line.hpp"

namespace muster {
namespace {

constexpr std::chrono::hours cleaned_every{1};

}  // namespace

uploads::uploads(upload_cache_options cache, tls_options tls, std::string token)
    : cache_(std::move(cache)),
      tls_(std::move(tls)),
      token_(std::move(token)),
      thread_([this] { run(); }) {}

void uploads::provide(order o) {
  std::lock_guard const held(mutex_);
  auto const at = o.to.empty() ? waiting_.end()
                               : std::find_if(waiting_.begin(), waiting_.end(),
                                              [](order const& w) { return w.to.empty(); });
  waiting_.insert(at, std::move(o));
  changed_.notify_all();
}

void uploads::forget(std::uint64_t id) {
  std::lock_guard const held(mutex_);
  std::erase_if(waiting_, [id](order const& o) { return o.id == id; });
  if (current_ == id && fetching_) fetching_->cancel();
}

void uploads::close() {
  {
    std::lock_guard const held(mutex_);
    over_ = true;
    waiting_.clear();
    if (fetching_) fetching_->cancel();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void uploads::run() {
  for (std::unique_lock held(mutex_); !over_;) {
    if (waiting_.empty()) {
      held.unlock();
      try {
        cache_.clean();
      } catch (std::exception const& e) {
        log(log_level::warning, std::string("uploads cannot be listed: ") + e.what());
      }
      held.lock();
      changed_.wait_for(held, cleaned_every, [this] { return over_ || !waiting_.empty(); });
      continue;
    }
    auto const o = std::move(waiting_.front());
    waiting_.pop_front();
    current_ = o.id;
    auto const fetch = fetching_ = std::make_shared<upload_fetch>(o.server, tls_, token_);
    held.unlock();
    auto came = perform(o, *fetch);
    if (!fetch->cancelled()) o.done(std::move(came));
    held.lock();
    current_ = 0;
    fetching_.reset();
  }
}

uploads::outcome uploads::perform(order const& o, upload_fetch& fetch) {
  try {
    if (o.before) o.before();
    cache_.provide(
        o.hash, o.to, o.owner,
        [&fetch](std::string const& hash, auto const& to) { fetch.run(hash, to); },
        [&fetch] { return fetch.cancelled(); });
    return {};
  } catch (upload_unavailable const& e) {
    return {std::string("cannot prepare the upload: ") + e.what(), true};
  } catch (std::exception const& e) {
    return {std::string("cannot prepare the upload: ") + e.what()};
  }
}

}  // namespace muster
