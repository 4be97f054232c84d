// The store in etcd: `--store`. Every transaction counts only while this server's key of the leader
// is as this store left it: made by the same revision, so that nobody else leads, and of the same
// version, so that one that etcd was slow to do never comes after a later one. Like every store
// used by one thread at a time.
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
  /// Of etcd, as far as it is in use. Less than the journal's reserve below it: full.
  std::uint64_t bytes_max = std::uint64_t{1} << 30;
  /// Somebody else leads, and why. Must not return.
  std::function<void(std::string const& why)> over;
  /// How long `open` waits for a member whose answer is as recent as this server's term.
  std::chrono::milliseconds recent_answer_limit{10'000};
};

class etcd_store final : public store {
 public:
  /// Finishes a batch that an earlier leader had written and not done. REQUIRES: leads.
  /// UNAVAILABLE: no member has answered in time with data that is as recent as the term, or this
  /// server does not lead any more. Nothing is written then.
  static muster::result<std::unique_ptr<etcd_store>> open(access a, term t, store_options o);

  /// Waits as long as etcd does not answer. RESOURCE_EXHAUSTED: etcd has no space; nothing of it is
  /// written, and it may be tried again.
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
  void look_at_space() const;
  muster::status not_written() const;

  names const names_;
  store_options const options_;
  mutable client client_;
  term term_;
  std::chrono::milliseconds read_limit_;
  piece_table pieces_;
  std::uint64_t sequence_ = 1;   // of the next batch in parts
  bool parts_to_erase_ = false;  // of earlier ones
  std::int64_t revision_ = 0;
  std::size_t written_ = 0, commits_ = 0;  // since the last compaction
  std::chrono::steady_clock::time_point compacted_{};
  mutable std::uint64_t size_ = 0, in_use_ = 0;
  mutable std::string version_;  // of the member that was asked last
  mutable bool knows_space_ = false, no_space_ = false;
};

}  // namespace muster::server::journal::etcd
