// What of a coordinator is saved: the variables that it has made or found, and objects that it has
// made to be saved; and when it is not, as python/muster/variables/known.py has it. Any thread.
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
  /// Names of what was deleted that are remembered.
  static constexpr std::size_t deleted_max = 10'000;
  using path = std::string const&;
  using how_many = std::optional<std::uint32_t>;

  void add(std::shared_ptr<variable_core const> v);
  void add(remote_object o, std::string const& name);
  /// It was deleted.
  void forget(std::uint64_t id);

  /// Writes all. Errors: std::invalid_argument (one has no name; keep), those of calls and of the
  /// disk.
  std::uint64_t save(path where, how_many keep);
  /// The same. Nothing: it would put what was just made in the place of what is to be restored.
  std::optional<std::uint64_t> save_unless_restarted(path where, how_many keep);
  /// Loads all from the newest whole checkpoint. Nothing: there is none. Errors:
  /// std::invalid_argument (none is whole, or it has not all: then nothing was loaded), those of
  /// calls.
  std::optional<std::uint64_t> restore(path where);

 private:
  /// One of the two.
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
  /// All below REQUIRE the mutex.
  all const& listed() const;
  void may_go_on(path where, all const& loaded);

  std::mutex turn_;                             // held by who saves or restores
  std::mutex mutex_;                            // protects all below
  all named_;                                   // as many as the program has given names
  std::map<std::uint64_t, std::string> names_;  // by their ids
  std::map<std::uint64_t, std::weak_ptr<variable_core const>> unnamed_;
  std::set<std::string> deleted_;
  /// Something is lost, or was made again: what is there now may not take the place of what was
  /// saved.
  bool restarted_ = false;
  std::set<std::string> continued_;  // paths from which it was restored, or to which it was saved
};

}  // namespace muster::detail
