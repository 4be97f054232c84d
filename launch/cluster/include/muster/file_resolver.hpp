// Reads a cluster from a JSON file at each call: {"worker": ["a:1", "b:1"]}. To update the file,
// rename a new file over it, so that readers never see an incomplete file.
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
    /// If empty, addresses have no prefix.
    std::string rpc_layer = {};
  };

  file_resolver(std::filesystem::path file, options o);
  explicit file_resolver(std::filesystem::path file) : file_resolver(std::move(file), {}) {}

  /// @throws cluster_error with code missing if the file does not exist, denied if it is not
  ///   readable, or invalid if it is malformed or not a regular file
  muster::cluster_spec cluster_spec() override;

 private:
  std::filesystem::path const file_;
};

}  // namespace muster
