// The directory that a program runs in, on its way to the server: packed, and put there unless it
// is there. Main thread.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

class code_upload {
 public:
  /// Packs it, and shows that on a terminal. Errors: command_error (usage): it cannot be packed.
  explicit code_upload(std::string const& directory);

  /// SHA-256, 64 hexadecimal digits.
  std::string const& hash() const { return hash_; }
  /// Submits a program whose `upload` is this. Errors: as rest.
  json::value submit(rest& server, std::string const& body, bool once) const;

 private:
  void put(rest& server) const;

  std::string hash_, bytes_;
};

}  // namespace muster::cli
