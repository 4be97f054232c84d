#include "launch/cluster/http/secret_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

std::string read_secret(std::string const& path, cluster_error::code kind,
                        std::string const& remedy) {
  auto const wrong = [&](std::string const& why) {
    return cluster_error(kind, path + ": " + why + (remedy.empty() ? "" : "; " + remedy));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw wrong(std::strerror(errno));
  std::string content(secret_bytes_max + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.bad() || (file.fail() && !file.eof())) throw wrong("cannot be read");
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.size() > secret_bytes_max)
    throw wrong("is longer than " + std::to_string(secret_bytes_max) + " bytes");
  auto const value = std::string(trimmed(content));
  if (value.empty()) throw wrong("is empty");
  if (has_control_character(value)) throw wrong("contains more than one line");
  return value;
}

}  // namespace muster::cluster
