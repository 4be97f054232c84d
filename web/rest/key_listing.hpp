// Pages of keys, as a flat list or as folders, and the tasks that wait for keys. Collected on the
// engine thread, written on the web thread.
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
  bool folders = false;  // if set, the key "a/b/c" below the prefix "a/" is listed as the folder
                         // "a/b/"
};

struct key_page {
  std::vector<core::coordination::key_view> keys;
  std::vector<std::string> folders;
  bool more = false;
  std::string last;  // position of the next page
};

struct key_waits {
  std::vector<core::coordination::key_wait_view> keys;
  core::time_point now{};
  bool more = false;
};

/// Returns a prefix in the form of stored keys: without leading and repeated slashes. Keeps a
/// trailing slash.
std::string key_prefix(std::string_view text);

/// Returns a page of keys. The page ends early if its values exceed `page_value_bytes`. Engine
/// thread.
key_page list_keys(core::coordination::service const& from, key_query const& wanted);
inline constexpr std::size_t page_value_bytes = 8u << 20;

void key_page_members(member_list const& m, key_page const& page, key_query const& wanted);
/// Writes the waits by key and by task.
void members(member_list const& m, key_waits const& waits);

}  // namespace muster::web
