// The state that a coordinator saves: variables that it has created or looked up, and objects
// created with object_options::saved. Suspends saving under the same conditions as
// python/muster/variables/known.py. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "muster/detail/variable_core.hpp"

namespace muster::detail {

class checkpoint_reader;

class known_state {
 public:
  /// Maximum number of remembered names of deleted objects.
  static constexpr std::size_t deleted_max = 10'000;
  using path = std::string const&;
  using how_many = std::optional<std::uint32_t>;

  void add(std::shared_ptr<variable_core const> v);
  void add(remote_object o, std::string const& name);
  void forget(std::uint64_t id);

  /// Saves a checkpoint. Throws std::invalid_argument if a variable has no name or `keep` is
  /// invalid. Also throws errors of calls and of the disk.
  std::uint64_t save(path where, how_many keep);
  /// Saves a checkpoint. Returns nothing, without saving, if newly created values would replace
  /// saved values that have not been restored.
  std::optional<std::uint64_t> save_unless_restarted(path where, how_many keep);
  /// Loads the newest complete checkpoint. Returns nothing if there is no checkpoint. Throws
  /// std::invalid_argument if no checkpoint is complete or entries are missing (nothing was
  /// loaded). Also throws errors of calls.
  std::optional<std::uint64_t> restore(path where);

 private:
  struct known {
    std::shared_ptr<variable_core const> variable{};
    remote_object object{};

    std::vector<std::uint64_t> ids() const;
  };
  using all = std::map<std::string, known>;

  void add(known one, std::string const& name);
  std::uint64_t write(path where, how_many keep, all const& what);
  static void check(checkpoint_reader const& from, all const& what);
  static void load(checkpoint_reader& from, all const& what);
  /// The following members require the mutex.
  all const& listed() const;
  void can_continue(path where, all const& loaded);

  std::mutex turn_;   // mutex locked during saving and restoring
  std::mutex mutex_;  // protects the following members
  all named_;         // at most the names that the program uses
  std::map<std::uint64_t, std::string> names_;
  std::map<std::uint64_t, std::weak_ptr<variable_core const>> unnamed_;
  std::set<std::string> deleted_;
  /// Whether anything was lost or recreated, so that the current values must not replace the saved
  /// values.
  bool restarted_ = false;
  std::set<std::string> continued_;  // paths that were restored from or saved to
};

}  // namespace muster::detail
