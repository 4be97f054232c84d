// The names of members and flags differ only in dashes and plurals.
#include "cli/words/field_flags.hpp"

#include <algorithm>
#include <sstream>

namespace muster::cli {
namespace {

// Returns an empty string if the command has no flag for the member. Connection flags do not
// correspond to members.
std::string flag_of(CLI::App const& verb, std::string member) {
  if (auto const index = member.find('['); index != member.npos) member.resize(index);
  std::replace(member.begin(), member.end(), '_', '-');
  for (auto const* others : {"key", "cert", "ca", "token", "url"})
    if (member == others) return {};
  for (auto const& name : {member, member.substr(0, member.size() - member.ends_with('s'))})
    if (!name.empty() && verb.get_option_no_throw("--" + name)) return "--" + name;
  return {};
}

}  // namespace

std::string with_flags(CLI::App const& verb, std::string const& text, std::string const& field) {
  if (field.empty() || !text.starts_with(field + ":")) return text;
  std::string flag, rest, member;
  auto members = std::istringstream(field);
  while (std::getline(members, member, '.')) {
    // A flag for one task type is more specific than --tasks.
    auto const found = flag.empty() || flag == "--tasks" ? flag_of(verb, member) : "";
    if (found.empty()) {
      rest += (rest.empty() ? "" : ".") + member;
      continue;
    }
    flag = found;
    rest.clear();
  }
  if (flag.empty()) return text;
  return flag + (rest.empty() ? "" : " " + rest) + text.substr(field.size());
}

}  // namespace muster::cli
