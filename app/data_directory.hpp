// `--data-dir` or `--store`: data of earlier processes, this process's journal, and the requests
// that wait for the journal. Owned by the app. Used only on the engine thread once it runs.
#pragma once

#include <filesystem>
#include <memory>

#include "server/hub/coordination_hub.hpp"
#include "server/hub/hub_dependencies.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/journal.hpp"

namespace muster::server {

struct directory_dependencies {
  /// Returns the time if the server may still answer, as for the hubs.
  std::function<core::time_point()> now;
  /// Thread-safe.
  std::function<void(std::function<void()>)> post;
  std::function<void(log_event const&)> tell;
};

class data_directory {
 public:
  explicit data_directory(directory_dependencies dependencies)
      : dependencies_(std::move(dependencies)) {}

  /// Opens the directory, restores its content into the hub, and increments the epoch, which counts
  /// starts. If the directory is in use, foreign, damaged, or from a newer server, leaves it
  /// unchanged and returns FAILED_PRECONDITION, with a one-line message that contains the path.
  muster::status open(std::filesystem::path const& directory, std::string const& version,
                      coordination_hub& into);
  /// Restores an open store; `name` is used in messages. Returns INTERNAL if the content is
  /// damaged.
  muster::status open(std::unique_ptr<journal::store> s, std::string name,
                      std::string const& version, coordination_hub& into,
                      bool is_directory = false);
  /// Sets a function that open() calls before it reads each part.
  void on_part_read(std::function<void(std::string what)> told) { reading_ = std::move(told); }

  void start(journal::journal_options o);
  /// Connects a hub: its changes are written to this directory, and its requests wait in the common
  /// queue.
  void attach_to(coordination_dependencies& hub);
  /// An empty `cluster` means the main cluster.
  void attach_to(hub_dependencies& hub, std::string const& cluster);
  /// Writes a batch of facts that journal::encode accepts; commits_ counts the batch.
  /// @pre start() was called.
  template <class... Facts>
  void write_down(Facts const&... facts) {
    std::vector<journal::change> batch;
    journal::encode(facts..., batch);
    commits_.wrote(journal_->append(std::move(batch)));
  }
  void write_down(std::string const& cluster, std::vector<core::fact> const& facts);

  /// Each take function returns data that open() found, and can be called once.
  std::vector<core::token> take_tokens() { return std::exchange(tokens_, {}); }
  std::vector<journal::stored_job> take_jobs() { return std::exchange(jobs_, {}); }
  std::vector<journal::stored_program> take_programs() { return std::exchange(programs_, {}); }
  std::vector<journal::stored_record> take_records() { return std::exchange(records_, {}); }
  /// Returns the number of starts with this directory, including this one.
  std::uint64_t epoch() const { return epoch_; }
  /// Returns the identity that clients see, which is the same after each start. Returns 0 if
  /// nothing is stored.
  std::uint64_t identity() const { return identity_; }
  std::uint64_t sessions_before() const { return sessions_before_; }
  /// Returns RESOURCE_EXHAUSTED, with the path and the free space, while changes cannot be stored;
  /// see is_no_room.
  muster::status refusal() const;
  /// @pre start() was called.
  store_view view() const;
  /// Writes pending changes; no change may follow. Has no effect if not open. Call this on the main
  /// thread.
  void stop();
  /// Answers the requests that still wait. Must be called after stop().
  void answer_waiting_requests();

 private:
  muster::status begin(std::string const& version, coordination_hub& into);
  void written(std::uint64_t durable, muster::status const& failed);
  void report_disk_space();
  muster::status no_room_status(journal::journal_stats const& facts) const;

  journal::change format_entry() const;

  directory_dependencies const dependencies_;
  std::string name_;
  bool is_directory_ = false;
  std::function<void(std::string)> reading_ = [](auto const&) {};
  std::string version_;
  std::uint64_t epoch_ = 0;
  std::uint64_t identity_ = 0;
  // When the full disk was reported; `never` while the disk has space.
  core::time_point full_since_ = core::never;
  std::uint64_t sessions_before_ = 0;
  std::uint64_t sessions_reserved_ = 0;  // numbers up to this one are reserved on disk
  std::vector<core::token> tokens_;
  std::vector<journal::stored_job> jobs_;
  std::vector<journal::stored_program> programs_;
  std::vector<journal::stored_record> records_;
  core::duration restored_in_{};
  commit_queue commits_;
  std::unique_ptr<journal::store> store_;
  std::unique_ptr<journal::journal> journal_;
};

}  // namespace muster::server
