// Pages of keys, flat or as folders, and who waits for keys: collected on the engine thread,
// written on the web thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/core/coordination/service.hpp"
#include "web/json/members.hpp"

namespace muster::web {

struct key_query {
  std::string prefix, after;
  std::size_t limit = 0;
  bool values = true;
  bool folders = false;  // "a/b/c" below the prefix "a/" is the folder "a/b/"
};

struct key_page {
  std::vector<core::coordination::key_view> keys;
  std::vector<std::string> folders;
  bool more = false;
  std::string last;  // where the next page begins
};

struct key_waits {
  std::vector<core::coordination::key_wait_view> keys;
  core::time_point now{};
  bool more = false;
};

/// As keys are kept: no slash at the front, single ones within; one at the end stays.
std::string key_prefix(std::string_view text);

/// Engine thread. A page ends early when its values exceed `page_value_bytes`.
key_page list_keys(core::coordination::service const& from, key_query const& wanted);
inline constexpr std::size_t page_value_bytes = 8u << 20;

void key_page_members(member_list const& m, key_page const& page, key_query const& wanted);
/// By key and, turned round, by task.
void members(member_list const& m, key_waits const& waits);

}  // namespace muster::web
