// The server's blobs: core::blob_table decides which blobs exist, and this class stores their bytes
// in memory or in files. With a data directory, blobs are on disk before they are acknowledged, and
// survive a restart.
//
//   engine thread                            the store's thread
//   begin, append, append…, finish ── job ──► hashes and writes; one piece of an upload at a time
//   read                           ── job ──► reads; answers are posted back to the engine
//
// A value of the form `{"$blob":"<sha256>",…}` names a blob. The blob is kept while the server has
// the value, because no client could upload it again. Periodic sweeps check whether the server
// still has the value. A client that names a blob in an argument must renew its lease every few
// seconds. Unfinished programs keep their blobs.
//
// Owned by the composition root and used only on the engine thread, except `start`, which is called
// before that thread runs.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/unique_function.hpp"
#include "server/core/access/token.hpp"
#include "server/core/api/blob_name.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/blobs/blob_table.hpp"
#include "server/disk/store_thread.hpp"
#include "server/hub/blob_files.hpp"
#include "server/hub/blob_holders.hpp"
#include "server/hub/lost_names.hpp"

namespace muster::core {
struct explanation;  // api/explanation.hpp
struct input_place;
}  // namespace muster::core

namespace muster::server {

struct blob_store_options {
  core::blob_limits limits;
  blob_files_options files;
  /// Maximum number of concurrent uploads. Further uploads fail with RESOURCE_EXHAUSTED.
  std::size_t uploads_max = 64;
  /// Maximum number of named blobs. At the limit, blobs of further values can expire.
  std::size_t names_max = 500'000;
  /// Whether an output may be stored only in its worker's memory. The option is false if a
  /// restarted server needs the outputs.
  bool outputs_stay = true;
  /// If the server uses TLS, processes use TLS to fetch values from each other.
  bool tls = false;
};

struct blob_figures {
  core::blob_counts there;
  core::holder_counts elsewhere;  ///< values in the memory of workers and clients
  value_traffic taken;
  std::vector<core::worker_holding> workers;
};

struct blob_dependencies {
  std::function<core::time_point()> now;
  /// Runs a function on the engine thread. Called on the store's thread.
  std::function<void(std::function<void()>)> post;
  std::function<muster::status(core::token const& who, std::uint64_t more)> room_for_token =
      [](auto const&, auto) { return muster::status(); };
  /// Runs the closure of a lost value again. The function can be empty, and must not call the
  /// store.
  std::function<void(core::closure_id)> recompute = {};
};

class blob_store {
 public:
  static constexpr std::size_t hash_bytes = 32;
  static constexpr std::size_t workers_shown = 20;
  static constexpr std::size_t fetches_max = 1'000;
  /// Maximum number of closures examined per sweep.
  static constexpr std::size_t looks = 256;
  static constexpr std::size_t piece_bytes_max = std::size_t{4} << 20;

  /// Called exactly once, on the engine thread.
  using done = std::function<void(muster::status)>;
  using read_done = std::function<void(muster::result<std::string>)>;
  using upload_id = std::uint64_t;

  blob_store(blob_store_options options, blob_dependencies dependencies);
  ~blob_store();
  blob_store(blob_store const&) = delete;

  /// Restores the blobs from an earlier server process. Before `start` and after `stop`, requests
  /// fail with UNAVAILABLE, but blobs can already be named. Returns FAILED_PRECONDITION with a
  /// one-line message if the directory cannot be used.
  muster::status start();
  /// Completes the pending jobs and stops the thread. Can be called on any thread except the
  /// store's thread.
  void stop();

  /// Begins an upload. Returns the errors that core::blob_limits documents, and RESOURCE_EXHAUSTED
  /// if uploads_max or the token's limit is reached.
  /// @param size if known, the space is reserved immediately
  /// @param name the blob's name, if it differs from the hash
  /// @param who the uploader's token, whose byte limit includes the blob until the blob is removed
  ///   or the server exits
  muster::result<upload_id> begin(std::string_view hash, std::optional<std::uint64_t> size,
                                  std::string_view name = {}, core::caller const& who = {});
  std::uint64_t bytes_of(std::string_view token) const;
  /// Adds a chunk. REQUIRES: the previous chunk was answered without an error. Fails with the same
  /// errors as `begin`, with no_room if the disk is full, or with UNAVAILABLE if the disk fails.
  void append(upload_id id, std::string piece, done on_done);
  /// Ends the upload, even on an error. Fails with the same errors as `append`, or with
  /// INVALID_ARGUMENT if the hash or the size differs.
  void finish(upload_id id, done on_done);
  /// Abandons the upload, unless it has ended.
  void abandon(upload_id id);

  std::optional<std::uint64_t> size_of(std::string_view hash) const { return table_.size_of(hash); }
  /// Reads up to `bytes` bytes, fewer only at the end of the blob. Fails with NOT_FOUND if the blob
  /// is unknown, UNAVAILABLE if the disk fails, or INTERNAL if the file was truncated.
  void read(std::string_view hash, std::uint64_t offset, std::size_t bytes, read_done on_done);

  /// Renews the blob's lease. Returns false if the server does not have the blob.
  bool lease(std::string_view hash);
  /// Prevents the blob that the closure's value names from expiring, until the closure or the value
  /// is removed.
  void name(core::closure_id closure, std::string_view hash);
  /// Requests an upload of the blob that the closure's value names, unless the server has it.
  void copy(core::closure_id closure);

  /// Prevents these blobs from expiring, until a later call omits them.
  void keep(std::set<std::string> hashes);

  /// Requests a blob, and calls `then` once the blob is stored or after `patience`. `then` is
  /// posted immediately if the blob cannot arrive, or if `fetches_max` calls are waiting.
  void fetch(std::string_view name, core::duration patience, std::function<void()> then);

  /// Returns the current name of a blob that was lost and recomputed; see lost_names.
  std::string current(std::string_view name) const { return lost_.current(name); }
  /// Requests an upload of the blob. If no process stores the blob, runs the closure again.
  void want(std::string_view name);
  /// Returns whether a process stores the blob, or its closure can run again.
  bool can_arrive(std::string_view name) const {
    return holders_.knows(name) || lost_.is_missing(name);
  }
  bool is_named(std::string_view name) const { return table_.is_held(name); }
  /// Returns the holders of a blob or its replacement. `bytes` is 0 if the blob is not stored
  /// anywhere.
  core::input_place place_of(std::string_view name) const;
  /// Adds the location of an input that a running closure may be waiting for.
  void explain_input(core::explanation& e) const;
  bool is_hash(std::string_view name) const { return !named_.contains(std::string(name)); }

  blob_holders& holders() { return holders_; }
  bool outputs_stay() const { return options_.outputs_stay; }
  bool tls() const { return options_.tls; }
  core::time_point now() const { return dependencies_.now(); }

  /// Removes expired blobs, and checks for some closures in named_by_ whether `has_value` is still
  /// true. Takes at most 1 ms. Must be called about once a second.
  /// @param lost receives the closures whose values are lost
  /// @param copied receives each closure once, after the server has stored its output
  using of_closures = std::function<void(std::vector<core::closure_id>)>;
  void sweep(std::function<bool(core::closure_id)> const& has_value, of_closures const& lost = {},
             of_closures const& copied = {});
  core::blob_counts counts() const { return table_.counts(); }
  blob_figures figures() {
    return {table_.counts(), holders_.counts(), holders_.traffic(),
            holders_.table().workers(workers_shown)};
  }
  core::blob_limits const& limits() const { return table_.limits(); }

 private:
  struct upload {
    std::string hash;
    std::string name;
    std::optional<std::uint64_t> size;
    core::caller who{};  // charged token; may be null
    std::uint64_t reserved = 0, got = 0;
    bool finishing = false;
  };
  struct charge {
    std::string token;
    std::uint64_t bytes = 0;
  };
  using job = coro::unique_function<void(blob_files&)>;

  bool ask(job j);
  /// Runs `work` on the store's thread, and `answer` with the result on the engine thread.
  template <class Work, class Answer>
  void ask(Work work, Answer answer);
  void remove_expired();

  blob_store_options const options_;
  blob_dependencies const dependencies_;
  void release(std::string_view name);
  void end_fetches();
  std::vector<core::closure_id> lose(std::vector<std::string> const& names);

  muster::status reserve(core::caller const& who, std::uint64_t bytes);
  void give_back(upload const& u);
  void uncharge(std::string const& token, std::uint64_t bytes);

  core::blob_table table_;
  std::map<std::string, charge> charged_;  // blobs that count for a token, by name
  // For each token, the total bytes of its blobs in charged_ and of its uploads.
  std::map<std::string, std::uint64_t, std::less<>> bytes_of_;
  blob_holders holders_;
  lost_names lost_;
  std::set<std::string> named_;  // stored blobs whose name is not their hash
  struct fetching {
    std::string name;
    core::time_point until;
    std::function<void()> then;
  };
  std::vector<fetching> fetches_;
  std::map<upload_id, upload> uploads_;
  upload_id last_upload_ = 0;
  struct naming {
    std::string name;
    bool told = false;
  };
  std::map<core::closure_id, naming> named_by_;
  core::closure_id sweep_position_{};
  std::set<std::string> kept_;
  blob_files files_;          // used only by the store's thread while it runs
  store_thread<job> thread_;  // bounded by uploads_max and by the readers
};

using core::names_blob;
/// Returns the 32-byte hash of the blob that a value names; empty if it names no blob.
std::string blob_named_by(std::string_view value);

}  // namespace muster::server
