// The calls of BlobService; what may pass is tried again, and what was put here kept at the server.
#include "muster/blobs.hpp"

#include <absl/strings/escaping.h>
#include <grpcpp/client_context.h>
#include <openssl/sha.h>

#include <boost/json.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "client/blobs/content_cache.hpp"
#include "client/checks.hpp"
#include "client/link/client_engine.hpp"
#include "client/link/server_list.hpp"
#include "muster/v1/blobs.grpc.pb.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using stub = v1::BlobService::Stub;

constexpr auto asked_every = 5s;
constexpr auto asking_limit = 10s;
constexpr auto transfer_limit = 10min;  // a gibibyte on a slow line
constexpr auto pause_min = 50ms;
constexpr auto pause_max = 1s;
constexpr std::size_t asked_max = 1'000;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
// Of one content; the server's limit. More is not believed.
constexpr std::uint64_t blob_bytes_max = std::uint64_t{1} << 40;

bool may_pass(grpc::StatusCode c) {
  using enum grpc::StatusCode;
  return c == UNAVAILABLE || c == CANCELLED || c == DEADLINE_EXCEEDED || c == INTERNAL ||
         c == RESOURCE_EXHAUSTED;
}

std::string sha256_of(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

grpc::Status call_put(stub& to, grpc::ClientContext& context, std::string_view hash,
                      std::string_view bytes) {
  auto const call = to.Put(&context);
  v1::PutBlob piece;
  piece.set_sha256(hash.data(), hash.size());
  piece.set_size(bytes.size());
  // False: the server has answered, that it had it, or why it does not take it.
  bool wanted = call->Write(piece);
  piece.Clear();
  for (std::size_t at = 0; wanted && at < bytes.size(); at += piece_bytes) {
    auto const part = bytes.substr(at, piece_bytes);
    piece.set_data(part.data(), part.size());
    wanted = call->Write(piece);
  }
  if (wanted) call->WritesDone();
  v1::BlobThere there;
  bool const answered = call->Read(&there);
  if (answered && there.had()) context.TryCancel();  // whatever is still on its way
  auto const ended = call->Finish();
  return answered ? grpc::Status::OK : ended;
}

grpc::Status call_get(stub& from, grpc::ClientContext& context, std::string_view hash,
                      std::string& into) {
  auto const call = from.Get(&context);
  v1::GetBlob asked;
  asked.set_sha256(hash.data(), hash.size());
  into.clear();
  std::uint64_t size = 0;
  bool began = false, whole = false, is_hash = true;
  if (call->Write(asked) && call->WritesDone()) {
    for (v1::BlobPiece piece; !whole && call->Read(&piece);) {
      if (!std::exchange(began, true)) {
        size = piece.size();
        is_hash = !piece.under_name();
      }
      if (size > blob_bytes_max || into.size() + piece.data().size() > size) break;
      if (into.empty()) into.reserve(size);
      into += piece.data();
      whole = into.size() == size;
    }
  }
  if (began) context.TryCancel();
  auto const ended = call->Finish();
  if (whole && is_hash && sha256_of(into) != hash)
    return {grpc::StatusCode::DATA_LOSS, "the server sent other bytes than the name says"};
  if (whole) return grpc::Status::OK;
  return began ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the content was cut off") : ended;
}

/// `there` is as long as `hashes`, of which there are asked_max at most.
grpc::Status call_has(stub& of, grpc::ClientContext& context,
                      std::vector<std::string> const& hashes, std::vector<bool>& there) {
  v1::HasBlobs asked;
  for (auto const& h : hashes) asked.add_sha256(h);
  v1::BlobsThere answer;
  auto const ended = of.Has(&context, asked, &answer);
  there.assign(answer.there().begin(), answer.there().end());
  if (ended.ok() && there.size() != hashes.size())
    return {grpc::StatusCode::INTERNAL, "the server answered about other blobs"};
  return ended;
}

}  // namespace

void tag_invoke(boost::json::value_from_tag, boost::json::value& to, blob const& from) {
  auto& o = to.emplace_object();
  o["$blob"] = from.sha256;
  o["bytes"] = from.bytes;
}

blob tag_invoke(boost::json::value_to_tag<blob>, boost::json::value const& from) {
  auto const* const o = from.if_object();
  auto const* const name = o ? o->if_contains("$blob") : nullptr;
  if (!name || !name->is_string() || hash_bytes(name->get_string()).empty())
    throw std::invalid_argument("a blob is {\"$blob\":\"<64 hexadecimal digits>\"}");
  blob b{std::string(name->get_string()), 0, {}};
  if (auto const* const n = o->if_contains("bytes"); n && n->is_int64() && n->get_int64() > 0)
    b.bytes = static_cast<std::uint64_t>(n->get_int64());
  return b;
}

class blobs::store {
 public:
  explicit store(blobs_options o) : options_(std::move(o)), cache_(options_.cache_bytes_max) {
    checked_tls(options_.tls);
  }

  ~store() {
    {
      std::lock_guard held(mutex_);
      over_ = true;
      for (auto* const c : calls_) c->TryCancel();
    }
    changed_.notify_all();
    if (keeper_.joinable()) keeper_.join();
  }

  blob put(std::string bytes) {
    auto const mine = std::make_shared<std::string const>(std::move(bytes));
    auto const hash = sha256_of(*mine);
    {
      std::lock_guard held(mutex_);
      if (auto const same = kept(hash)) return {absl::BytesToHexString(hash), same->size(), same};
    }
    try_until([&](auto& to, auto& context) { return call_put(to, context, hash, *mine); },
              transfer_limit, "blob " + absl::BytesToHexString(hash) + " cannot be put");
    std::lock_guard held(mutex_);
    auto content = kept(hash);  // somebody else's, who was as fast
    if (!content) kept_[hash] = content = mine;
    if (!keeper_.joinable()) keeper_ = std::thread([this] { keep(); });
    return {absl::BytesToHexString(hash), content->size(), content};
  }

  std::shared_ptr<std::string const> get(blob const& which) {
    if (which.content) return which.content;
    auto const hash = hash_bytes(which.sha256);
    if (hash.empty())
      throw blob_error(failure_kind::input, "a blob's name has 64 hexadecimal digits");
    std::unique_lock held(mutex_);
    // Ends with the call that fetches it, which has a deadline.
    changed_.wait(held, [&] { return !fetching_.contains(hash); });
    if (auto here = cache_.find(hash)) return here;
    fetching_.insert(hash);
    held.unlock();
    std::string bytes;
    auto const done = [&] {
      held.lock();
      fetching_.erase(hash);
      changed_.notify_all();
    };
    try {
      try_until([&](auto& from, auto& context) { return call_get(from, context, hash, bytes); },
                transfer_limit, "blob " + which.sha256 + " cannot be had");
    } catch (...) {
      done();
      throw;
    }
    auto const got = std::make_shared<std::string const>(std::move(bytes));
    done();
    cache_.add(hash, got);
    return got;
  }

 private:
  /// One server, and the way to it.
  struct dialled {
    explicit dialled(blobs_options const& o)
        : server(chosen_server(o.server)),
          calls(v1::BlobService::NewStub(make_channel(server, o.tls))) {}

    std::string const server;
    std::unique_ptr<stub> const calls;
  };

  /// REQUIRES: the mutex.
  std::shared_ptr<std::string const> kept(std::string const& hash) const {
    auto const it = kept_.find(hash);
    return it == kept_.end() ? nullptr : it->second.lock();
  }

  /// A call with a deadline that the destructor can cancel.
  template <class Call>
  grpc::Status once(Call const& call, clock::duration limit) {
    std::shared_ptr<dialled const> there;
    grpc::ClientContext context;
    add_token(context, options_.token);
    context.set_deadline(std::chrono::system_clock::now() + limit);
    {
      std::lock_guard held(mutex_);
      if (over_) return {grpc::StatusCode::CANCELLED, "the blobs are being closed"};
      if (!dialled_) dialled_ = std::make_shared<dialled const>(options_);
      there = dialled_;
      calls_.insert(&context);
    }
    auto const ended = call(*there->calls, context);
    std::lock_guard held(mutex_);
    calls_.erase(&context);
    if (ended.ok() || ended.error_code() != grpc::StatusCode::UNAVAILABLE) return ended;
    pass_over(options_.server, there->server);
    if (dialled_ == there) dialled_.reset();
    return ended;
  }

  template <class Call>
  void try_until(Call const& call, clock::duration limit, std::string const& what) {
    auto const end = clock::now() + options_.patience;
    clock::duration pause = pause_min;
    for (;;) {
      auto const ended = once(call, limit);
      if (ended.ok()) return;
      bool const passes = may_pass(ended.error_code());
      std::unique_lock held(mutex_);
      if (!passes || over_ || clock::now() + pause > end)
        throw blob_error(passes ? failure_kind::dependency_lost : failure_kind::input,
                         what + ": " + ended.error_message());
      changed_.wait_for(held, pause, [this] { return over_; });
      pause = std::min<clock::duration>(pause * 2, pause_max);
    }
  }

  // The thread that asks for what was put here and is still wanted.
  void keep() {
    std::unique_lock held(mutex_);
    while (!changed_.wait_for(held, asked_every, [this] { return over_; })) {
      std::erase_if(kept_, [](auto const& k) { return k.second.expired(); });
      std::vector<std::string> hashes;
      for (auto const& [hash, content] : kept_) hashes.push_back(hash);
      held.unlock();
      for (std::size_t at = 0; at < hashes.size(); at += asked_max)
        renew({hashes.begin() + static_cast<std::ptrdiff_t>(at),
               hashes.begin() +
                   static_cast<std::ptrdiff_t>(std::min(hashes.size(), at + asked_max))});
      held.lock();
    }
  }

  // What fails is tried again when it is asked for the next time.
  void renew(std::vector<std::string> const& hashes) {
    std::vector<bool> there;
    auto const asked =
        once([&](auto& of, auto& context) { return call_has(of, context, hashes, there); },
             asking_limit);
    if (!asked.ok()) return;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (there[i]) continue;
      std::unique_lock held(mutex_);
      auto const content = kept(hashes[i]);
      held.unlock();
      if (content)
        (void)once(
            [&](auto& to, auto& context) { return call_put(to, context, hashes[i], *content); },
            transfer_limit);
    }
  }

  blobs_options const options_;
  std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  bool over_ = false;
  detail::content_cache cache_;
  std::set<std::string> fetching_;        // one a thread at most
  std::set<grpc::ClientContext*> calls_;  // the same
  std::shared_ptr<dialled const> dialled_;
  /// What was put here: as many as there are copies of blobs, and what went since the last look.
  std::map<std::string, std::weak_ptr<std::string const>> kept_;
  std::thread keeper_;  // from the first put on
};

blobs::blobs(blobs_options options) : store_(std::make_unique<store>(std::move(options))) {}
blobs::~blobs() = default;

blob blobs::put(std::string content) {
  return store_->put(std::move(content));
}

std::shared_ptr<std::string const> blobs::get(blob const& which) {
  return store_->get(which);
}

}  // namespace muster
