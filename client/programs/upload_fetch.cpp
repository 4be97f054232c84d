#include "client/programs/upload_fetch.hpp"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/process/file_descriptor.hpp"
#include "client/link/client_engine.hpp"
#include "muster/v1/blobs.grpc.pb.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto transfer_limit = 10min;
constexpr auto patience = 30s;
constexpr auto pause = 500ms;
constexpr std::uint64_t archive_bytes_max = std::uint64_t{1} << 30;  // the server's limit

bool is_transient(grpc::StatusCode c) {
  using enum grpc::StatusCode;
  return c == UNAVAILABLE || c == INTERNAL || c == RESOURCE_EXHAUSTED;
}

class download {
 public:
  explicit download(std::filesystem::path const& to)
      : file_(opened(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
                     "cannot write the archive of an upload")) {
    EVP_DigestInit_ex(hash_.get(), EVP_sha256(), nullptr);
  }
  /// Returns errno, or 0 on success.
  int add(std::string const& bytes) {
    EVP_DigestUpdate(hash_.get(), bytes.data(), bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
      auto const n = ::write(file_.get(), bytes.data() + at, bytes.size() - at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      at += static_cast<std::size_t>(n);
    }
    size_ += bytes.size();
    return 0;
  }
  std::uint64_t size() const { return size_; }
  std::string digest() {
    std::string made(32, '\0');
    EVP_DigestFinal_ex(hash_.get(), reinterpret_cast<unsigned char*>(made.data()), nullptr);
    return made;
  }

 private:
  file_descriptor file_;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash_{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  std::uint64_t size_ = 0;
};

grpc::Status call_get(v1::BlobService::Stub& from, grpc::ClientContext& context,
                      std::string const& hash, std::filesystem::path const& to, bool& came) {
  download got(to);
  v1::GetBlob asked;
  asked.set_sha256(hash);
  auto const call = from.Get(&context);
  std::uint64_t size = 0;
  bool began = false, whole = false;
  int error = 0;
  if (call->Write(asked) && call->WritesDone()) {
    for (v1::BlobPiece piece; !whole && error == 0 && call->Read(&piece);) {
      if (!std::exchange(began, true)) size = piece.size();
      if (size > archive_bytes_max || got.size() + piece.data().size() > size) break;
      error = got.add(piece.data());
      came = true;
      whole = got.size() == size;
    }
  }
  if (began) context.TryCancel();
  auto const ended = call->Finish();
  if (error != 0)
    throw std::system_error(error, std::generic_category(),
                            "cannot write the archive of an upload");
  if (whole && got.digest() != hash)
    return {grpc::StatusCode::DATA_LOSS, "the bytes that the server sent do not match the digest"};
  if (whole) return grpc::Status::OK;
  return began ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the content is incomplete") : ended;
}

}  // namespace

grpc::Status upload_fetch::once(std::string const& hash, std::filesystem::path const& to,
                                bool& came) {
  grpc::ClientContext context;
  add_token(context, token_);
  context.set_deadline(std::chrono::system_clock::now() + transfer_limit);
  {
    std::lock_guard const held(mutex_);
    if (cancelled_) return grpc::Status::CANCELLED;
    call_ = &context;
  }
  struct no_call {
    upload_fetch& of;
    ~no_call() {
      std::lock_guard const held(of.mutex_);
      of.call_ = nullptr;
    }
  } const over{*this};
  auto const calls = v1::BlobService::NewStub(make_channel(server_, tls_));
  return call_get(*calls, context, absl::HexStringToBytes(hash), to, came);
}

void upload_fetch::run(std::string const& hash, std::filesystem::path const& to) {
  auto end = clock::now() + patience;
  for (;;) {
    bool came = false;
    auto const ended = once(hash, to, came);
    if (ended.ok()) return;
    if (came) end = clock::now() + patience;
    std::unique_lock held(mutex_);
    auto const passes = is_transient(ended.error_code());
    if (!passes || clock::now() + pause > end || cancelled_) {
      auto const why =
          "upload " + hash + " cannot be fetched from " + server_ + ": " + ended.error_message();
      if (passes || ended.error_code() == grpc::StatusCode::NOT_FOUND)
        throw upload_unavailable(why);
      throw std::runtime_error(why);
    }
    changed_.wait_for(held, pause, [this] { return cancelled_; });
  }
}

void upload_fetch::cancel() {
  std::lock_guard const held(mutex_);
  cancelled_ = true;
  if (call_) call_->TryCancel();
  changed_.notify_all();
}

bool upload_fetch::cancelled() {
  std::lock_guard const held(mutex_);
  return cancelled_;
}

}  // namespace muster
