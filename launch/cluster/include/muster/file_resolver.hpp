// A cluster in a JSON file, read anew at each call: {"worker": ["a:1", "b:1"]}. Whoever rewrites it
// does so by renaming a new file over it, lest half of it be read.
#pragma once

#include <filesystem>

#include "muster/cluster_resolver.hpp"

namespace muster {

class file_resolver : public cluster_resolver {
 public:
  struct options {
    std::optional<std::string> task_type = {};
    std::optional<int> task_id = {};
    std::string environment = {};
    /// Empty: addresses stand alone.
    std::string rpc_layer = {};
  };

  file_resolver(std::filesystem::path file, options o);
  explicit file_resolver(std::filesystem::path file) : file_resolver(std::move(file), {}) {}

  /// missing: there is no such file; denied: it may not be read; invalid: it is no regular file, or
  /// what it holds is malformed.
  muster::cluster_spec cluster_spec() override;

 private:
  std::filesystem::path const file_;
};

}  // namespace muster
