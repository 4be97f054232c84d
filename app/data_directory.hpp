// `--data-dir` or `--store`: what an earlier process wrote there, the journal of this one, and who
// waits for that. Owned by the app; engine thread, or before that runs.
#pragma once

#include <filesystem>
#include <memory>

#include "server/hub/coordination_hub.hpp"
#include "server/hub/hub_dependencies.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/journal.hpp"

namespace muster::server {

/// What the data directory needs from outside; real in the app, by hand in tests.
struct directory_dependencies {
  /// As that of the hubs: returns if the server may still answer.
  std::function<core::time_point()> now;
  /// Has work done on the engine thread. Any thread.
  std::function<void(std::function<void()>)> post;
  /// A line for the log and the event feed.
  std::function<void(log_event const&)> tell;
};

class data_directory {
 public:
  explicit data_directory(directory_dependencies dependencies)
      : dependencies_(std::move(dependencies)) {}

  /// Opens it for this process and gives the hub what stands in it; one more epoch, which counts
  /// the starts of servers there, is written. FAILED_PRECONDITION, in one line with the path: it is
  /// in use, something else's, damaged, or of a newer server; then it is as it was.
  muster::status open(std::filesystem::path const& directory, std::string const& version,
                      coordination_hub& into);
  /// The same with a store that is open; `name` is for people. INTERNAL: what stands in it is
  /// damaged.
  muster::status open(std::unique_ptr<journal::store> s, std::string name,
                      std::string const& version, coordination_hub& into,
                      bool is_directory = false);
  /// Called while it is opened, before each part of it is read. REQUIRES: before `open`.
  void on_reading(std::function<void(std::string what)> told) { reading_ = std::move(told); }

  /// From here on the journal has the directory, and people hear of its disk.
  void start(journal::journal_options o);
  /// What a hub writes down goes here, and who waits for it is in the one queue of all.
  void attach_to(coordination_dependencies& hub);
  /// The same of the closures of a cluster, by its name; empty: the main one.
  void attach_to(hub_dependencies& hub, std::string const& cluster);
  /// A batch that the queue counts, of what journal::encode takes. REQUIRES: started.
  template <class... Facts>
  void write_down(Facts const&... facts) {
    std::vector<journal::change> batch;
    journal::encode(facts..., batch);
    commits_.wrote(journal_->append(std::move(batch)));
  }
  /// The same of the jobs of a cluster.
  void write_down(std::string const& cluster, std::vector<core::fact> const& facts);

  /// What `open` found of tokens, once.
  std::vector<core::token> take_tokens() { return std::exchange(tokens_, {}); }
  /// What `open` found of jobs, once.
  std::vector<journal::stored_job> take_jobs() { return std::exchange(jobs_, {}); }
  /// What `open` found of programs, once.
  std::vector<journal::stored_program> take_programs() { return std::exchange(programs_, {}); }
  /// What `open` found of records of attempts, once.
  std::vector<journal::stored_record> take_records() { return std::exchange(records_, {}); }
  /// Starts of servers with this directory, this one included.
  std::uint64_t epoch() const { return epoch_; }
  /// What its servers are to clients: the same at each start; 0: nothing is stored.
  std::uint64_t identity() const { return identity_; }
  /// Jobs and sessions of earlier ones have no higher numbers.
  std::uint64_t sessions_before() const { return sessions_before_; }
  /// Returns RESOURCE_EXHAUSTED, with the path and the free space, while nothing new that has to be
  /// written down can be accepted; see is_no_room.
  muster::status refusal() const;
  /// For people and metrics. REQUIRES: started.
  store_view view() const;
  /// Writes what waits. Nothing may be written down then. Harmless when it is not open. Main
  /// thread.
  void stop();
  /// After that: who waits hears how far it got.
  void tell_rest();

 private:
  muster::status begin(std::string const& version, coordination_hub& into);
  void written(std::uint64_t durable, muster::status const& failed);
  void tell_room();
  muster::status no_room_status(journal::journal_facts const& facts) const;

  journal::change format_entry() const;

  directory_dependencies const dependencies_;
  std::string name_;  // of the directory, or of what else it is
  bool is_directory_ = false;
  std::function<void(std::string)> reading_ = [](auto const&) {};
  std::string version_;
  std::uint64_t epoch_ = 0;
  std::uint64_t identity_ = 0;
  core::time_point full_since_ = core::never;  // told; never: there is room
  std::uint64_t sessions_before_ = 0;
  std::uint64_t sessions_reserved_ = 0;  // numbers up to this one are spoken for on the disk
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
