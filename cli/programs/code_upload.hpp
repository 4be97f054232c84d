// The directory in which a program runs. It is packed, and uploaded unless the server has it. Used
// on the main thread.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

class code_upload {
 public:
  /// Packs the directory, and shows the progress on a terminal.
  /// @throws command_error (usage) if it cannot be packed
  explicit code_upload(std::string const& directory);

  /// Returns the SHA-256 as 64 hexadecimal digits.
  std::string const& hash() const { return hash_; }
  /// Submits a program whose `upload` is this directory. Throws the same errors as `rest`.
  json::value submit(rest& server, std::string const& body, bool once) const;

 private:
  void put(rest& server) const;

  std::string hash_, bytes_;
};

}  // namespace muster::cli
