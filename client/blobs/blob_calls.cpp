// Pieces of a mebibyte, and what a server that breaks its word is answered.
#include "client/blobs/blob_calls.hpp"

#include <openssl/sha.h>

#include "base/hex.hpp"
#include "client/link/client_engine.hpp"
#include "client/link/server_list.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
// Of one content; the server's limit. More is not believed.
constexpr std::uint64_t blob_bytes_max = std::uint64_t{1} << 40;

}  // namespace

std::string sha256_of(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

std::string hex_of(std::string_view bytes) {
  return hex(bytes);
}

blob_calls::blob_calls(blobs_options const& o)
    : server_(chosen_server(o.server)),
      stub_(v1::BlobService::NewStub(make_channel(server_, o.tls))) {}

grpc::Status blob_calls::put(grpc::ClientContext& context, std::string_view hash,
                             std::string_view bytes) {
  auto const call = stub_->Put(&context);
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

grpc::Status blob_calls::get(grpc::ClientContext& context, std::string_view hash,
                             std::string& into) {
  auto const call = stub_->Get(&context);
  v1::GetBlob asked;
  asked.set_sha256(hash.data(), hash.size());
  into.clear();
  std::uint64_t size = 0;
  bool began = false, whole = false;
  if (call->Write(asked) && call->WritesDone()) {
    for (v1::BlobPiece piece; !whole && call->Read(&piece);) {
      if (!std::exchange(began, true)) size = piece.size();
      if (size > blob_bytes_max || into.size() + piece.data().size() > size) break;
      if (into.empty()) into.reserve(size);
      into += piece.data();
      whole = into.size() == size;
    }
  }
  if (began) context.TryCancel();
  auto const ended = call->Finish();
  if (whole && sha256_of(into) != hash)
    return {grpc::StatusCode::DATA_LOSS, "the server sent other bytes than the name says"};
  if (whole) return grpc::Status::OK;
  return began ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the content was cut off") : ended;
}

grpc::Status blob_calls::has(grpc::ClientContext& context, std::vector<std::string> const& hashes,
                             std::vector<bool>& there) {
  v1::HasBlobs asked;
  for (auto const& h : hashes) asked.add_sha256(h);
  v1::BlobsThere answer;
  auto const ended = stub_->Has(&context, asked, &answer);
  there.assign(answer.there().begin(), answer.there().end());
  if (ended.ok() && there.size() != hashes.size())
    return {grpc::StatusCode::INTERNAL, "the server answered about other blobs"};
  return ended;
}

}  // namespace muster::detail
