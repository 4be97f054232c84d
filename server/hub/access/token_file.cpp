// A credential that Muster did not create gets an ID derived from its digest.
#include "server/hub/access/token_file.hpp"

#include <set>
#include <sstream>

#include "base/bounded_file.hpp"
#include "server/hub/access/token_text.hpp"

namespace muster::server {
namespace {

muster::status wrong(std::size_t line, std::string const& what) {
  return {muster::code::invalid_argument, "line " + std::to_string(line) + ": " + what};
}

std::vector<std::string> split(std::string const& text, char at) {
  std::vector<std::string> parts;
  auto words = std::istringstream(text);
  for (std::string part; std::getline(words, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

muster::result<core::token> parse_line(std::string const& line, std::size_t number) {
  // Constant, so that reading a line again yields the same token.
  static std::string const salt = new_salt();
  auto words = std::istringstream(line);
  std::string role_name, credential;
  words >> role_name >> credential;
  auto const role = enumerator_named<core::role>(role_name);
  if (!role) return wrong(number, "must begin with a role: viewer, submitter, worker or admin");
  if (credential.size() < credential_bytes_min || credential.size() > credential_bytes_max)
    return wrong(number, "the token has " + std::to_string(credential.size()) +
                             " bytes; the allowed range is " +
                             std::to_string(credential_bytes_min) + " to " +
                             std::to_string(credential_bytes_max));
  core::token t;
  t.id = id_of(credential);
  t.role = *role;
  t.from_file = true;
  for (std::string word; words >> word;) {
    if (word == "allow-exec")
      t.allow_exec = true;
    else if (word.starts_with("cluster="))
      t.clusters = split(word.substr(8), ',');
    else
      return wrong(number, "'" + word + "' must be cluster=C[,C…] or allow-exec");
  }
  if (t.role == core::role::admin && !t.clusters.empty())
    return wrong(number, "an admin token is valid for the whole server; remove cluster=");
  seal(t, credential, salt);
  return t;
}

}  // namespace

muster::result<std::vector<core::token>> parse_token_file(std::string_view text) {
  std::vector<core::token> all;
  std::set<std::string> ids;
  auto lines = std::istringstream(std::string(text));
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto const first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    auto t = parse_line(line, number);
    if (!t) return t.error();
    if (!ids.insert(t->id).second)
      return wrong(number, "an earlier line defines a token with the same id");
    all.push_back(std::move(*t));
  }
  return all;
}

muster::result<std::vector<core::token>> read_token_file(std::filesystem::path const& file) {
  auto const text = read_bounded_file(file.string());
  if (!text) return muster::status{text.error().code, file.string() + ": " + text.error().message};
  auto all = parse_token_file(*text);
  if (!all)
    return muster::status{code::invalid_argument, file.string() + ": " + all.error().message};
  return all;
}

}  // namespace muster::server
