#include "base/base_path.hpp"

#include <algorithm>

namespace muster {

bool is_base_path(std::string_view path) {
  if (path.empty()) return true;
  if (path.size() > base_path_bytes_max || path.front() != '/') return false;
  for (path.remove_prefix(1);;) {
    auto const part = path.substr(0, path.find('/'));
    bool const plain = std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '_' || c == '.';
    });
    if (!plain || part.empty() || part == "." || part == "..") return false;
    if (part.size() == path.size()) return true;
    path.remove_prefix(part.size() + 1);
  }
}

std::string without_base_path(std::string_view base_path, std::string_view path) {
  if (base_path.empty() || !path.starts_with(base_path)) return std::string(path);
  auto const rest = path.substr(base_path.size());
  if (rest.empty()) return "/";
  return std::string(rest.front() == '/' ? rest : path);
}

}  // namespace muster
