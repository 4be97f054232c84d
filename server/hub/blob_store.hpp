// The blobs of the server: core::blob_table says which, this has their bytes. Small ones lie in
// memory, others in files; with a data directory all of them in files below it, which are on the
// disk before anybody is told that a blob is there, and outlive the process.
//
//   engine thread                            the store's thread
//   begin, append, append…, finish ── job ──► hashes and writes; one piece of an upload at a time
//   read                           ── job ──► reads; answers are posted back to the engine
//
// A value that is `{"$blob":"<sha256>",…}` names one, and keeps it for as long as the server has
// the value: nobody could put it again. That is looked at now and then instead of told, so that
// other closures pay nothing for it. What arguments name their client keeps, by asking for it
// (`lease`) every few seconds, and can put again. What programs run has nobody who would ask for
// it: they keep it until they have ended.
//
// Owned by the composition root. Everything is called on the engine thread, `start` before it runs.
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
  /// Uploads at one time. More: RESOURCE_EXHAUSTED.
  std::size_t uploads_max = 64;
  /// Closures whose values name blobs. Beyond, values do not keep theirs.
  std::size_t names_max = 500'000;
  /// Outputs of closures may be in the memory of their worker alone. False where a server that
  /// starts anew has to have them.
  bool outputs_stay = true;
  /// The server speaks TLS, so processes that take values from each other do.
  bool tls = false;
};

/// Numbers for people.
struct blob_figures {
  core::blob_counts there;
  core::holder_counts elsewhere;  ///< in the memory of workers and clients
  value_traffic taken;
  std::vector<core::worker_holding> workers;  ///< that hold the most
};

struct blob_dependencies {
  std::function<core::time_point()> now;
  /// Has it called on the engine thread. From the store's thread.
  std::function<void(std::function<void()>)> post;
  /// Checks whether a token may have `more` bytes of values besides what it has, its blobs
  /// included.
  std::function<muster::status(core::token const& who, std::uint64_t more)> room_for_token =
      [](auto const&, auto) { return muster::status(); };
  /// Has a closure run again whose value is lost. May be empty. Must not call the store back.
  std::function<void(core::closure_id)> make_again = {};
};

class blob_store {
 public:
  static constexpr std::size_t hash_bytes = 32;
  static constexpr std::size_t workers_shown = 20;
  /// Values that somebody waits for to be put.
  static constexpr std::size_t fetches_max = 1'000;
  /// Looked at by one sweep.
  static constexpr std::size_t looks = 256;
  /// Of one piece that is appended or read.
  static constexpr std::size_t piece_bytes_max = std::size_t{4} << 20;

  /// Both get exactly one answer, on the engine thread, later.
  using done = std::function<void(muster::status)>;
  using read_done = std::function<void(muster::result<std::string>)>;
  using upload_id = std::uint64_t;

  blob_store(blob_store_options options, blob_dependencies dependencies);
  ~blob_store();
  blob_store(blob_store const&) = delete;

  /// Finds what an earlier process left. FAILED_PRECONDITION, in one line with the directory: it
  /// cannot be used. Before `start`, and after `stop`, everything is answered UNAVAILABLE; what is
  /// held before is held.
  muster::status start();
  /// Ends the thread when it has done what it was asked for. Any thread but that one.
  void stop();

  /// Begins to put a blob. `size`: where it is known, room for it is taken at once. Errors: see
  /// core::blob_limits; RESOURCE_EXHAUSTED; UNAVAILABLE. `name`: what it is kept under, where that
  /// is not its hash. `who`: the token that puts it. If it has a limit of bytes, the blob counts
  /// for it, from now until the blob is removed or the server ends.
  muster::result<upload_id> begin(std::string_view hash, std::optional<std::uint64_t> size,
                                  std::string_view name = {}, core::caller const& who = {});
  /// Returns the bytes of blobs that count for a token, uploads included.
  std::uint64_t bytes_of(std::string_view token) const;
  /// REQUIRES: the last one was answered; not after an error. Errors: those of begin; no_room, when
  /// the disk is full; UNAVAILABLE, when it fails.
  void append(upload_id id, std::string piece, done on_done);
  /// Errors: INVALID_ARGUMENT (other bytes than its name, or its size, say), as above. Then, and
  /// when OK, the upload is over.
  void finish(upload_id id, done on_done);
  /// Forgets what was appended. Harmless when it is over.
  void abandon(upload_id id);

  std::optional<std::uint64_t> size_of(std::string_view hash) const { return table_.size_of(hash); }
  /// At most `bytes` from `offset` on; fewer at its end. NOT_FOUND; UNAVAILABLE, when the disk
  /// fails; INTERNAL, when the file has been cut.
  void read(std::string_view hash, std::uint64_t offset, std::size_t bytes, read_done on_done);

  /// Whether it is there; if so it is kept as if it had just been put.
  bool lease(std::string_view hash);
  /// A closure's value names this blob, and keeps it until the closure or its value is gone.
  void name(core::closure_id closure, std::string_view hash);
  /// Has what its value names put by who holds it, unless it is here.
  void copy(core::closure_id closure);

  /// Programs that go on name these, and keep them until they are not among those of a later call.
  void keep(std::set<std::string> hashes);

  /// Calls `then` once, later: when it is there, or after `patience`. Who holds it is asked to put
  /// it. More than `fetches_max` that wait: at once.
  void fetch(std::string_view name, core::duration patience, std::function<void()> then);

  /// What is to be asked for instead of a name; see lost_names.
  std::string current(std::string_view name) const { return lost_.current(name); }
  /// Has it put by who holds it, or made again.
  void want(std::string_view name);
  /// It is not here, but may come: somebody holds it, or its closure runs again.
  bool may_come(std::string_view name) const {
    return holders_.knows(name) || lost_.is_missing(name);
  }
  /// Some value names it.
  bool is_named(std::string_view name) const { return table_.is_held(name); }
  /// Who has it now, or what stands for it; the bytes are 0 where nobody has.
  core::input_place place_of(std::string_view name) const;
  /// Adds where an input is that a running closure may wait for, and that its worker has not.
  void explain_input(core::explanation& e) const;
  /// The name of what is here is the hash of its bytes.
  bool is_hash(std::string_view name) const { return !named_.contains(std::string(name)); }

  /// Values that are where they were made; see blob_holders.
  blob_holders& holders() { return holders_; }
  bool outputs_stay() const { return options_.outputs_stay; }
  bool tls() const { return options_.tls; }
  core::time_point now() const { return dependencies_.now(); }

  /// Forgets what is due, and looks at some of the closures whose values name blobs: whether
  /// `has_value`. About every second; takes a millisecond at most.
  /// `lost`: of each closure whose value is nowhere any more. `copied`: of each whose output is
  /// here as well as where it was made, once.
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
    std::string name;  // what it is kept under
    std::optional<std::uint64_t> size;
    core::caller who{};  // that it counts for; null: for no token
    std::uint64_t reserved = 0, got = 0;
    bool finishing = false;
  };
  struct charge {
    std::string token;
    std::uint64_t bytes = 0;
  };
  using job = coro::unique_function<void(blob_files&)>;

  bool ask(job j);
  /// `answer` gets what comes of it, on the engine thread.
  template <class Work, class Answer>
  void ask(Work work, Answer answer);
  void remove_gone();

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
  std::map<std::string, std::uint64_t, std::less<>> bytes_of_;  // by token, of these and of uploads
  blob_holders holders_;
  lost_names lost_;
  std::set<std::string> named_;  // of what is here, what is under a name that is not its hash
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
    bool told = false;  // that it is here
  };
  std::map<core::closure_id, naming> named_by_;
  core::closure_id looked_at_{};  // of these, by the last sweep
  std::set<std::string> kept_;    // by programs
  blob_files files_;              // the store's thread, while that runs
  store_thread<job> thread_;      // what waits is bounded by uploads_max and by who reads
};

using core::names_blob;
/// The blob that a value's text names, 32 bytes; empty: none.
std::string blob_named_by(std::string_view value);

}  // namespace muster::server
