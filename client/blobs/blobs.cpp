#include "muster/blobs.hpp"

#include <absl/strings/escaping.h>

#include <boost/json.hpp>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "client/blobs/blocking_blob_calls.hpp"
#include "client/blobs/content_cache.hpp"
#include "client/blobs/shared_values.hpp"
#include "client/checks.hpp"
#include "client/log_line.hpp"
#include "client/value_wait.hpp"
#include "muster/context.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using detail::blob_stub;

constexpr auto poll_interval = 1s;
constexpr auto asked_every = 5s;
constexpr auto asking_limit = 10s;
constexpr auto leaving_limit = 10s;
constexpr auto transfer_limit = 10min;  // limit that allows 1 GiB on a slow connection
// Number of attempts to upload a value, because the server may not know the holder yet.
constexpr int unknown_holder_tries = 8;

std::string hex(std::string_view name) {
  return absl::BytesToHexString({name.data(), name.size()});
}

// Returns the task whose worker function this thread runs, or an empty string.
std::string current_task() {
  auto const* const w = detail::blob_recording_scope::worker();
  return w ? w->job + ":" + std::to_string(w->index) : std::string();
}

// The server accepts 300 bytes for an address with its port.
constexpr std::size_t address_bytes_max = 290;

// Throws std::invalid_argument if an address is invalid; the message names the option.
void check_transfer(blobs_options const& o) {
  for (auto const& [name, text] : {std::pair("transfer_listen", &o.transfer_listen),
                                   std::pair("transfer_advertise", &o.transfer_advertise)}) {
    auto const refuse = [name = name](std::string const& why) {
      throw std::invalid_argument("blobs_options." + std::string(name) + ": " + why);
    };
    if (text->size() > address_bytes_max)
      refuse("the address has " + std::to_string(text->size()) + " bytes, the limit is " +
             std::to_string(address_bytes_max));
    try {
      if (!text->empty() && *text != "off") (void)detail::peer_address::parse(*text);
    } catch (std::invalid_argument const& e) {
      refuse(e.what());
    }
  }
}

class put_content final : public detail::blob_content {
 public:
  explicit put_content(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes() const override { return bytes_; }

 private:
  std::string const bytes_;
};

}  // namespace

namespace detail {

thread_local blob_contents* blob_recording_scope::into_ = nullptr;
thread_local worker_identity const* blob_recording_scope::worker_ = nullptr;

}  // namespace detail

void tag_invoke(boost::json::value_from_tag, boost::json::value& to, blob const& from) {
  if (from.content) detail::blob_recording_scope::add(from.content);
  auto& o = to.emplace_object();
  o["$blob"] = from.sha256;
  o["bytes"] = from.bytes;
}

blob tag_invoke(boost::json::value_to_tag<blob>, boost::json::value const& from) {
  auto const* const o = from.if_object();
  auto const* const name = o ? o->if_contains("$blob") : nullptr;
  if (!name || !name->is_string() || hash_bytes(name->get_string()).empty())
    throw std::invalid_argument("a blob must be {\"$blob\":\"<64 hexadecimal digits>\"}");
  blob b{std::string(name->get_string()), 0, {}};
  if (auto const* const n = o->if_contains("bytes"); n && n->is_int64() && n->get_int64() > 0)
    b.bytes = static_cast<std::uint64_t>(n->get_int64());
  return b;
}

class blobs::store {
 public:
  explicit store(blobs_options o)
      : options_(std::move(o)),
        shared_max_(detail::memory_max(options_.shm_bytes_max)),
        server_(options_),
        cache_(options_.cache_bytes_max) {
    checked_tls(options_.tls);
    check_transfer(options_);
  }

  void close() {
    std::unique_lock held(mutex_);
    closing_ = true;
    changed_.notify_all();
    if (keeper_.joinable()) changed_.wait_for(held, leaving_limit, [this] { return drained_; });
    closed_ = true;
    changed_.notify_all();
    auto const shared = shared_;
    held.unlock();
    server_.cancel();
    if (keeper_.joinable()) keeper_.join();
    if (shared) shared->close();
  }

  blob put(std::string_view bytes) {
    if (bytes.size() >= detail::shared_values::size_min)
      if (auto const shared = started())
        if (auto made = shared->hold(bytes, current_task()); made.content)
          return {hex(made.name), bytes.size(), std::move(made.content)};
    auto const hash = detail::raw_sha256_of(bytes);
    {
      std::lock_guard held(mutex_);
      if (auto const same = kept(hash)) return {hex(hash), bytes.size(), same};
    }
    server_.try_until(
        [&](auto& to, auto& context) { return detail::call_put(to, context, hash, bytes); },
        transfer_limit, "blob " + hex(hash) + " cannot be uploaded");
    auto const mine = std::make_shared<put_content const>(bytes);
    std::lock_guard held(mutex_);
    auto content = kept(hash);  // another thread may have stored the same blob
    if (!content) kept_[hash] = content = mine;
    start_maintenance();
    return {hex(hash), bytes.size(), content};
  }

  blob_bytes get(blob const& which) {
    if (which.content) return {which.content, which.content->bytes()};
    auto const name = hash_bytes(which.sha256);
    if (name.empty())
      throw blob_error(failure_kind::input, "a blob name must have 64 hexadecimal digits");
    detail::value_wait const waits;
    std::unique_lock held(mutex_);
    // Waits for another thread that fetches the same blob; that fetch has a deadline.
    changed_.wait(held, [&] { return !fetching_.contains(name); });
    if (auto here = cache_.find(name)) return here;
    fetching_.insert(name);
    held.unlock();
    auto const done = [&] {
      held.lock();
      fetching_.erase(name);
      changed_.notify_all();
    };
    blob_bytes got;
    try {
      got = taken(name, which.bytes);
      if (!got) got = fetched(name);
    } catch (...) {
      done();
      throw;
    }
    done();
    return got;
  }

 private:
  std::shared_ptr<detail::blob_content const> kept(std::string const& hash) const {
    auto const it = kept_.find(hash);
    return it == kept_.end() ? nullptr : it->second.lock();
  }

  /// Returns null if values cannot be shared.
  std::shared_ptr<detail::shared_values> started() {
    std::lock_guard held(mutex_);
    if (shared_ || shared_max_ == 0 || closed_ || closing_) return shared_;
    auto const wanted = [this](std::string const& name) { want(name); };
    auto const dropped = [this](std::string const& name) { forget(name); };
    auto const put = [this](std::string const& name) { put_held(name, transfer_limit); };
    try {
      shared_ = std::make_shared<detail::shared_values>(
          options_, shared_max_, detail::shared_values::callbacks{wanted, dropped, put});
      start_maintenance();
    } catch (std::system_error const& e) {
      log(log_level::warning,
          std::string(
              "shared memory cannot be used, so large values are sent through the server: ") +
              e.what());
      shared_max_ = 0;
    }
    return shared_;
  }

  void want(std::string const& name) {
    std::lock_guard held(mutex_);
    if (wanted_names_.insert(name).second) wanted_.push_back(name);
    changed_.notify_all();
  }

  void forget(std::string const& name) {
    std::lock_guard held(mutex_);
    cache_.erase(name);
  }

  // Returns an empty pointer if the value must be fetched from the server. `size` is 0 if unknown.
  blob_bytes taken(std::string const& name, std::uint64_t size) {
    if (size != 0 && size < detail::shared_values::size_min) return {};
    auto const shared = started();
    if (!shared) return {};
    if (auto const own = shared->own(name)) return {own, own->bytes()};
    auto const task = current_task();
    if (!shared->may_take(task)) return {};
    auto const locate = [&](std::string const& host, v1::BlobPlace& place) {
      auto const ask = [&](auto& of, auto& context) {
        return detail::call_locate(of, context, name, host, place);
      };
      return server_.once(ask, asking_limit).ok();
    };
    // `keep` may be called after the caller has stopped waiting.
    auto const keep = [this, name](detail::shared_values::memory const& m) {
      std::lock_guard held(mutex_);
      cache_.add(name, {m, m->bytes()});
    };
    auto const m = shared->take(name, task, locate, keep);
    return m ? blob_bytes(m, m->bytes()) : blob_bytes();
  }

  blob_bytes fetched(std::string const& name) {
    auto const bytes = std::make_shared<std::string>();
    auto const began = clock::now();
    server_.try_until(
        [&](auto& from, auto& context) { return detail::call_get(from, context, name, *bytes); },
        transfer_limit, "blob " + hex(name) + " cannot be fetched");
    blob_bytes got{bytes, *bytes};
    std::lock_guard held(mutex_);
    if (shared_) shared_->record_server_time(bytes->size(), clock::now() - began);
    cache_.add(name, got);
    return got;
  }

  // Stores a held value on the server under its name. Only the holder may do this. Throws
  // blob_error.
  void put_held(std::string const& name, clock::duration limit) {
    auto const shared = started();
    if (!shared)
      throw blob_error(failure_kind::dependency_lost, "the connection for blobs is being closed");
    auto const bytes = shared->own(name);
    if (!bytes) return;
    auto const hash = detail::raw_sha256_of(bytes->bytes());
    grpc::Status ended;
    bool is_refused = false;  // whether a retry would fail for the same reason
    auto const until = clock::now() + std::min<clock::duration>(limit, options_.patience);
    for (int tries = 1;; ++tries) {
      // A new stream has a new holder number.
      auto const now = shared->find(name);
      if (!now.bytes) return;
      auto const put = [&](auto& to, auto& context) {
        return detail::call_put(to, context, hash, bytes->bytes(), name, now.holder);
      };
      ended = server_.once(put, limit);
      if (ended.ok()) return;
      bool const is_unknown_holder = ended.error_code() == grpc::StatusCode::PERMISSION_DENIED;
      bool const passes = is_unknown_holder ? tries < unknown_holder_tries
                                            : detail::is_transient(ended.error_code());
      std::unique_lock held(mutex_);
      is_refused = !closed_ && !passes && !is_unknown_holder;
      if (closed_ || !passes || clock::now() > until) break;
      changed_.wait_for(held, std::min<clock::duration>(100ms * tries, 1s),
                        [this] { return closed_; });
    }
    throw blob_error(is_refused ? failure_kind::input : failure_kind::dependency_lost,
                     "blob " + hex(name) + " cannot be uploaded: " + ended.error_message());
  }

  void try_to_put(std::string const& name) {
    try {
      put_held(name, transfer_limit);
    } catch (blob_error const& e) {
      log(log_level::warning, e.what());
    }
  }

  void start_maintenance() {
    if (!keeper_.joinable()) keeper_ = std::thread([this] { keep(); });
  }

  // Runs on the thread that uploads requested values, and renews blobs on the server that are still
  // in use.
  void keep() {
    auto asked_at = clock::now();
    std::unique_lock held(mutex_);
    while (!closing_) {
      changed_.wait_for(held, poll_interval, [this] { return closing_ || !wanted_.empty(); });
      put_wanted(held);
      if (closing_) break;
      let_go(held);
      if (clock::now() - asked_at < asked_every) continue;
      asked_at = clock::now();
      renew(held);
    }
    if (auto const shared = shared_) {
      held.unlock();
      for (auto const& name : shared->needed()) try_to_put(name);
      held.lock();
    }
    drained_ = true;
    changed_.notify_all();
  }

  void put_wanted(std::unique_lock<std::mutex>& held) {
    while (!wanted_.empty() && !closing_) {
      auto const name = std::move(wanted_.front());
      wanted_.pop_front();
      held.unlock();
      try_to_put(name);
      held.lock();
      wanted_names_.erase(name);
    }
  }

  void let_go(std::unique_lock<std::mutex>& held) {
    auto const shared = shared_;
    if (!shared) return;
    held.unlock();
    for (auto const& name : shared->tick(clock::now())) {
      try_to_put(name);
      shared->let_go(name);
    }
    held.lock();
  }

  // Blobs that could not be renewed are retried in the next round.
  void renew(std::unique_lock<std::mutex>& held) {
    std::erase_if(kept_, [](auto const& k) { return k.second.expired(); });
    std::vector<std::string> hashes;
    for (auto const& [hash, content] : kept_) hashes.push_back(hash);
    held.unlock();
    for (std::size_t at = 0; at < hashes.size(); at += detail::asked_max)
      renew_some({hashes.begin() + static_cast<std::ptrdiff_t>(at),
                  hashes.begin() + static_cast<std::ptrdiff_t>(
                                       std::min(hashes.size(), at + detail::asked_max))});
    held.lock();
  }

  void renew_some(std::vector<std::string> const& hashes) {
    std::vector<bool> there;
    auto const has = [&](auto& of, auto& context) {
      return detail::call_has(of, context, hashes, there);
    };
    if (!server_.once(has, asking_limit).ok()) return;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (there[i]) continue;
      std::unique_lock held(mutex_);
      auto const content = kept(hashes[i]);
      held.unlock();
      auto const put = [&](auto& to, auto& context) {
        return detail::call_put(to, context, hashes[i], content->bytes());
      };
      if (content) (void)server_.once(put, transfer_limit);
    }
  }

  blobs_options const options_;
  std::size_t shared_max_;  // the mutex protects this member
  detail::blob_caller server_;
  std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  bool closing_ = false, drained_ = false, closed_ = false;
  detail::content_cache cache_;
  std::set<std::string> fetching_;  // names being fetched, at most one per thread
  /// Blobs on the server: blobs that this process refers to, and blobs that were released since the
  /// last round.
  std::map<std::string, std::weak_ptr<detail::blob_content const>> kept_;
  std::shared_ptr<detail::shared_values> shared_;  // null until the first large value is stored
  std::deque<std::string> wanted_;                 // requested values, without duplicates
  std::set<std::string> wanted_names_;             // names in wanted_ and of the current upload
  std::thread keeper_;                             // thread that the first put starts
};

blobs::blobs(blobs_options options) : store_(std::make_unique<store>(std::move(options))) {}

blobs::~blobs() {
  store_->close();
}

blob blobs::put(std::string_view content) {
  return store_->put(content);
}

blob_bytes blobs::get(blob const& which) {
  return store_->get(which);
}

}  // namespace muster
