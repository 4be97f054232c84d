#include "client/blobs/blocking_blob_calls.hpp"

#include <openssl/sha.h>

#include "client/link/client_engine.hpp"
#include "client/link/server_list.hpp"

namespace muster::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto blob_pause_min = 50ms;
constexpr auto blob_pause_max = 1s;
constexpr std::size_t put_piece_bytes = std::size_t{1} << 20;
// Maximum blob size, equal to the server's limit. Larger sizes are considered invalid.
constexpr std::uint64_t blob_bytes_max = std::uint64_t{1} << 40;

}  // namespace

bool is_transient(grpc::StatusCode c) {
  using enum grpc::StatusCode;
  return c == UNAVAILABLE || c == CANCELLED || c == DEADLINE_EXCEEDED || c == INTERNAL ||
         c == UNKNOWN || c == RESOURCE_EXHAUSTED;
}

std::string raw_sha256_of(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

grpc::Status call_put(blob_stub& to, grpc::ClientContext& context, std::string_view hash,
                      std::string_view bytes, std::string_view name, std::uint64_t holder) {
  auto const call = to.Put(&context);
  v1::PutBlob piece;
  piece.set_sha256(hash.data(), hash.size());
  piece.set_size(bytes.size());
  piece.set_name(name.data(), name.size());
  piece.set_holder(holder);
  // False means that the server has already answered, because it has the blob or rejects it.
  bool wanted = call->Write(piece);
  piece.Clear();
  for (std::size_t at = 0; wanted && at < bytes.size(); at += put_piece_bytes) {
    auto const part = bytes.substr(at, put_piece_bytes);
    piece.set_data(part.data(), part.size());
    wanted = call->Write(piece);
  }
  if (wanted) call->WritesDone();
  v1::BlobThere there;
  bool const answered = call->Read(&there);
  if (answered && there.had()) context.TryCancel();  // stops sending the remaining data
  auto const ended = call->Finish();
  return answered ? grpc::Status::OK : ended;
}

grpc::Status call_get(blob_stub& from, grpc::ClientContext& context, std::string_view name,
                      std::string& into) {
  auto const call = from.Get(&context);
  v1::GetBlob asked;
  asked.set_sha256(name.data(), name.size());
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
  if (whole && is_hash && raw_sha256_of(into) != name)
    return {grpc::StatusCode::DATA_LOSS, "the bytes that the server sent do not match the digest"};
  if (whole) return grpc::Status::OK;
  return began ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the content is incomplete") : ended;
}

grpc::Status call_has(blob_stub& of, grpc::ClientContext& context,
                      std::vector<std::string> const& hashes, std::vector<bool>& there) {
  v1::HasBlobs asked;
  for (auto const& h : hashes) asked.add_sha256(h);
  v1::BlobsThere answer;
  auto const ended = of.Has(&context, asked, &answer);
  there.assign(answer.there().begin(), answer.there().end());
  if (ended.ok() && there.size() != hashes.size())
    return {grpc::StatusCode::INTERNAL, "the server's answer refers to other blobs"};
  return ended;
}

grpc::Status call_locate(blob_stub& of, grpc::ClientContext& context, std::string const& name,
                         std::string const& host, v1::BlobPlace& into) {
  v1::LocateRequest asked;
  asked.set_host(host);
  asked.set_peers(true);
  asked.add_name(name);
  v1::LocateResponse answer;
  auto const ended = of.Locate(&context, asked, &answer);
  if (ended.ok() && answer.place_size() != 1)
    return {grpc::StatusCode::INTERNAL, "the server's answer refers to other blobs"};
  if (ended.ok()) into.Swap(answer.mutable_place(0));
  return ended;
}

blob_caller::dialled::dialled(blobs_options const& o)
    : server(chosen_server(o.server)),
      calls(v1::BlobService::NewStub(make_channel(server, o.tls))) {}

grpc::Status blob_caller::once(call const& c, clock::duration limit) {
  std::shared_ptr<dialled const> there;
  grpc::ClientContext context;
  add_token(context, options_.token);
  context.set_deadline(std::chrono::system_clock::now() + limit);
  {
    std::lock_guard held(mutex_);
    if (ended_) return {grpc::StatusCode::CANCELLED, "the connection for blobs is being closed"};
    if (!dialled_) dialled_ = std::make_shared<dialled const>(options_);
    there = dialled_;
    calls_.insert(&context);
  }
  auto const ended = c(*there->calls, context);
  std::lock_guard held(mutex_);
  calls_.erase(&context);
  if (ended.ok() || ended.error_code() != grpc::StatusCode::UNAVAILABLE) return ended;
  pass_over(options_.server, there->server);
  if (dialled_ == there) dialled_.reset();
  return ended;
}

void blob_caller::try_until(call const& c, clock::duration limit, std::string const& what) {
  auto const end = clock::now() + options_.patience;
  clock::duration pause = blob_pause_min;
  for (;;) {
    auto const ended = once(c, limit);
    if (ended.ok()) return;
    bool const passes = is_transient(ended.error_code());
    std::unique_lock held(mutex_);
    if (!passes || ended_ || clock::now() + pause > end)
      throw blob_error(passes ? failure_kind::dependency_lost : failure_kind::input,
                       what + ": " + ended.error_message());
    changed_.wait_for(held, pause, [this] { return ended_; });
    pause = std::min<clock::duration>(pause * 2, blob_pause_max);
  }
}

void blob_caller::cancel() {
  std::lock_guard held(mutex_);
  ended_ = true;
  for (auto* const c : calls_) c->TryCancel();
  changed_.notify_all();
}

}  // namespace muster::detail
