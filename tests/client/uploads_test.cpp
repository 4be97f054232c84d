#include <absl/strings/escaping.h>
#include <openssl/sha.h>

#include "base/archive/pack.hpp"
#include "tests/archive/trees.hpp"
#include "tests/client/ranks_fixture.hpp"

namespace muster::test {
namespace {

std::string sha256(std::string const& bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

struct uploads_of_ranks : ranks_of_a_worker {
  uploads_of_ranks() {
    code.write("file", "of the upload");
    archive = pack(code.root).bytes;
    server.on_get = [this](grpc::ServerContext* c, blob_stream* s) { return give(c, s); };
  }
  grpc::Status give(grpc::ServerContext* c, blob_stream* s) {
    v1::GetBlob asked;
    bool const came = s->Read(&asked);
    ++gets;  // counted first: the test may then stop the ranks, which cancels the call
    if (!came) return grpc::Status::CANCELLED;
    EXPECT_EQ(asked.sha256(), sha256(archive));
    if (hangs) {
      while (!c->IsCancelled()) std::this_thread::yield();
      return grpc::Status::CANCELLED;
    }
    if (!refusal.empty()) return {grpc::StatusCode::NOT_FOUND, refusal};
    v1::BlobPiece piece;
    piece.set_size(archive.size());
    auto bytes = archive;
    if (damages) bytes.back() ^= 1;
    for (std::size_t at = 0; at < bytes.size(); at += 10) {
      piece.set_data(bytes.substr(at, 10));
      s->Write(piece);
      piece.clear_size();
    }
    ++given;
    return grpc::Status::OK;
  }
  v1::ServerMessage start_uploaded(int ranks, std::string const& script,
                                   std::uint32_t attempt = 1) const {
    auto m = start(ranks, script, attempt);
    m.mutable_ranks()->mutable_start(0)->set_upload(absl::BytesToHexString(sha256(archive)));
    return m;
  }
  std::string refused() {
    std::string why;
    serve({[&](worker_stream* s, v1::WorkerMessage const&) {
      s->Write(start_uploaded(1, "true"));
      heard h(s);
      ASSERT_TRUE(h.until(0, 1));
      why = h.ends[0].not_started();
      counts = !h.ends[0].stopped();
    }});
    return why;
  }

  tree code;
  std::string archive, refusal;
  std::atomic<int> gets = 0, given = 0;
  std::atomic<bool> hangs = false, damages = false;
  bool counts = false;  // whether it counts as a failure of the program
};

TEST_F(uploads_of_ranks, are_fetched_once_and_unpacked_into_own_directories) {
  serve({[&](worker_stream* s, v1::WorkerMessage const& hello) {
    EXPECT_TRUE(hello.hello().programs().unpacks());
    s->Write(start_uploaded(2, "[ \"$(cat file)\" = 'of the upload' ] && echo mine > file"));
    s->Write(start_uploaded(1, "[ \"$(cat file)\" = 'of the upload' ]", 2));
    heard h(s);
    ASSERT_TRUE(h.until(2, 2));
    while (h.said[0] < 2) ASSERT_TRUE(h.next());
    for (auto const rank : {0u, 1u}) {
      EXPECT_EQ(h.ends[rank].not_started(), "");
      EXPECT_EQ(h.ends[rank].exit_status(), 0u);
    }
  }});
  EXPECT_EQ(gets, 1);
}

TEST_F(uploads_of_ranks, prefetched_uploads_remain_after_the_server_dropped_them) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    v1::ServerMessage ahead;
    auto& prepare = *ahead.mutable_ranks()->add_prepare();
    prepare.set_program(7);
    prepare.set_upload(absl::BytesToHexString(sha256(archive)));
    s->Write(ahead);
    s->Write(ahead);  // a repetition has no effect
    while (given < 1) std::this_thread::yield();
    refusal = "no such blob";
    s->Write(start_uploaded(1, "[ \"$(cat file)\" = 'of the upload' ]"));
    heard h(s);
    ASSERT_TRUE(h.until(1, 1));
    EXPECT_EQ(h.ends[0].not_started(), "");
    EXPECT_EQ(h.ends[0].exit_status(), 0u);
  }});
  EXPECT_EQ(gets, 1);
}

TEST_F(uploads_of_ranks, unavailable_upload_fails_the_start_with_the_reason) {
  refusal = "no such blob";
  EXPECT_NE(refused().find("upload " + absl::BytesToHexString(sha256(archive))), std::string::npos);
  EXPECT_FALSE(counts) << "the server had the upload when it ordered the ranks";
}

TEST_F(uploads_of_ranks, upload_that_does_not_match_its_digest_is_not_unpacked) {
  damages = true;
  EXPECT_NE(refused().find("do not match the digest"), std::string::npos);
  EXPECT_TRUE(counts);
}

TEST_F(uploads_of_ranks, stopping_ranks_cancels_the_fetch_of_their_upload) {
  hangs = true;
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start_uploaded(2, "true"));
    while (gets < 1) std::this_thread::yield();
    s->Write(stop(1'000));
    heard h(s);
    ASSERT_TRUE(h.until(0, 2));
    EXPECT_TRUE(h.ends[0].stopped());
    EXPECT_EQ(h.ends[1].not_started(), "the rank was stopped before its upload arrived");
    // A later start is not blocked.
    hangs = false;
    s->Write(start_uploaded(1, "cat file", 2));
    h.pids.clear();
    ASSERT_TRUE(h.until(1, 2));
  }});
}

TEST_F(uploads_of_ranks, pending_fetch_does_not_delay_the_exit_of_a_worker) {
  hangs = true;
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start_uploaded(1, "true"));
    while (gets < 1) std::this_thread::yield();
  }});
}

}  // namespace
}  // namespace muster::test
