#include "cli/body_flags.hpp"

#include <algorithm>

namespace muster::cli {

void body_flags::add(std::string const& flag, std::string_view member,
                     std::function<void(json::value&)> put) {
  auto name = member.empty() ? flag.substr(2, flag.find(',') - 2) : std::string(member);
  std::replace(name.begin(), name.end(), '-', '_');
  members_.emplace_back(std::move(name), std::move(put));
}

CLI::Option* body_flags::pairs(std::string const& flag, std::string const& type,
                               std::string const& help, std::string_view member,
                               json::value (*read)(std::string const&)) {
  auto const to = std::make_shared<texts>();
  add(flag, member, [to, flag, type, read](json::value& into) {
    if (to->empty()) return;
    auto& all = into.emplace_object();
    for (auto const& [name, text] : named_values(flag, type, *to))
      all[name] = read ? read(text) : json::value(text);
  });
  return add_repeated(*verb_, flag, *to, type, help);
}

CLI::Option* body_flags::flag(std::string const& flag, std::string const& help,
                              std::string_view member, bool given) {
  auto const to = std::make_shared<json::value>();
  add(flag, member, [to](json::value& into) { into = *to; });
  return verb_->add_flag_function(
      flag, [to, given](std::int64_t n) { *to = (n > 0) == given; }, help);
}

json::object body_flags::body() const {
  json::object all;
  for (auto const& [name, put] : members_) {
    json::value one;
    put(one);
    if (!one.is_null()) all[name] = std::move(one);
  }
  return all;
}

}  // namespace muster::cli
