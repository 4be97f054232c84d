// Store in etcd (`--store`). A transaction succeeds only if the leader's key has the expected
// creation revision and version. Therefore, no other server can write, and a delayed transaction
// cannot be applied after a later transaction. Used by one thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "server/journal/etcd/client.hpp"
#include "server/journal/etcd/leadership.hpp"
#include "server/journal/etcd/transaction_plan.hpp"
#include "server/journal/store.hpp"

namespace muster::server::journal::etcd {

struct store_options {
  /// Maximum space in use in etcd. The store is full when less than the journal's reserve is left.
  std::uint64_t bytes_max = std::uint64_t{1} << 30;
  /// Called with the reason when another server has become the leader. Must not return.
  std::function<void(std::string const& why)> over;
  /// Maximum time that `open` waits for an answer that is as recent as this server's term.
  std::chrono::milliseconds recent_answer_limit{10'000};
};

class etcd_store final : public store {
 public:
  /// Opens the store and completes a batch that an earlier leader stored but did not apply.
  /// @pre This server is the leader.
  /// @return UNAVAILABLE if no member returned data as recent as the term in time, or if this
  ///   server is no longer the leader. In both cases, nothing is written.
  static muster::result<std::unique_ptr<etcd_store>> open(access a, term t, store_options o);

  /// Blocks until etcd answers. RESOURCE_EXHAUSTED means that nothing was written and the caller
  /// can retry.
  muster::status write(std::vector<change> const& batch) override;
  muster::status read(std::string_view prefix, visitor const& v) const override;
  void hurry() override;
  std::uint64_t bytes_on_disk() const override;
  std::optional<std::uint64_t> bytes_free() const override;
  std::string version() const override { return version_; }
  bool is_local() const override { return false; }

 private:
  using operations = std::vector<wire::RequestOp>;

  etcd_store(access a, term t, store_options o);
  muster::status confirm_term();
  muster::status recover_redo();
  muster::status recover_pieces();
  wire::TxnRequest guarded(operations ops) const;
  muster::status commit(operations ops);
  bool leader_is_at(std::int64_t version);
  muster::status write_in_parts(operations ops);
  muster::status do_all(std::vector<operations> parts, bool until_done);
  muster::result<wire::RangeResponse> range(wire::RangeRequest const& request,
                                            char const* what) const;
  muster::status scan(std::string from, std::string const& end, bool keys_only,
                      std::function<bool(wire::KeyValue&)> const& v) const;
  muster::result<std::string> whole(std::string_view key, std::string_view value) const;
  void written(std::size_t bytes);
  void compact();
  void check_space() const;
  muster::status not_written() const;

  names const names_;
  store_options const options_;
  mutable client client_;
  term term_;
  std::chrono::milliseconds read_limit_;
  piece_table pieces_;
  std::uint64_t sequence_ = 1;   // number of the next batch that is written in parts
  bool parts_to_erase_ = false;  // whether parts of earlier batches exist
  std::int64_t revision_ = 0;
  std::size_t written_ = 0, commits_ = 0;  // since the last compaction
  std::chrono::steady_clock::time_point compacted_{};
  mutable std::uint64_t size_ = 0, in_use_ = 0;
  mutable std::string version_;
  mutable bool knows_space_ = false, no_space_ = false;
};

}  // namespace muster::server::journal::etcd
