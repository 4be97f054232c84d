// Pages of keys, and the tasks that wait for keys. Collected on the engine thread, written on the
// web thread.
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
  bool folders = false;  // whether "a/b/c" below "a/" is listed as "a/b/"
};

struct key_page {
  std::vector<core::coordination::key_view> keys;
  std::vector<std::string> folders;
  bool more = false;
  std::string last;
};

struct key_waits {
  std::vector<core::coordination::key_wait_view> keys;
  core::time_point now{};
  bool more = false;
};

/// Removes leading and repeated slashes, as in stored keys. Keeps a trailing slash.
std::string key_prefix(std::string_view text);

/// The page ends early if its values exceed `page_value_bytes`.
key_page list_keys(core::coordination::service const& from, key_query const& wanted);
inline constexpr std::size_t page_value_bytes = 8u << 20;

void key_page_members(member_list const& m, key_page const& page, key_query const& wanted);
void members(member_list const& m, key_waits const& waits);

}  // namespace muster::web
