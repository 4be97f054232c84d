#include "web/rest/key_listing.hpp"

#include <map>

#include "web/http/query.hpp"
#include "web/json/cluster_json.hpp"

namespace muster::web {

namespace {

struct shown_key {
  coordination::key_view const* key = nullptr;
  bool with_value = true;
};
void members(member_list const& m, shown_key const& k) {
  members(m, *k.key, k.with_value);
}

}  // namespace

template <>
inline constexpr std::string_view schema_name<shown_key> = "KeyView";

namespace {

// This byte follows every key in the folder, because UTF-8 never contains it.
constexpr char behind_all = '\xff';

key_page list_flat(coordination::service const& from, key_query const& wanted) {
  key_page page;
  page.keys = from.views().keys(wanted.prefix, wanted.after, wanted.limit + 1);
  page.more = page.keys.size() > wanted.limit;
  if (page.more) page.keys.pop_back();
  std::size_t bytes = 0;
  for (std::size_t i = 0; wanted.values && i < page.keys.size(); ++i) {
    bytes += page.keys[i].value.size();
    if (bytes <= page_value_bytes || i == 0) continue;
    page.more = true;
    page.keys.resize(i);
  }
  if (!page.keys.empty()) page.last = page.keys.back().key;
  return page;
}

// Each entry needs one lookup, so a folder with a million keys costs as much as a single key.
key_page list_folders(coordination::service const& from, key_query const& wanted) {
  key_page page;
  page.last = wanted.after;
  std::size_t bytes = 0;
  for (;;) {
    auto found = from.views().keys(wanted.prefix, page.last, 1);
    if (found.empty()) return page;
    page.more = page.keys.size() + page.folders.size() == wanted.limit || bytes > page_value_bytes;
    if (page.more) return page;
    auto& key = found.front().key;
    auto const slash = key.find('/', wanted.prefix.size());
    if (slash == std::string::npos) {
      if (wanted.values) bytes += found.front().value.size();
      page.last = key;
      page.keys.push_back(std::move(found.front()));
    } else {
      page.folders.push_back(key.substr(0, slash + 1));
      page.last = page.folders.back() + behind_all;
    }
  }
}

}  // namespace

std::string key_prefix(std::string_view text) {
  std::string prefix;
  for (char const c : text)
    if (c != '/' || (!prefix.empty() && prefix.back() != '/')) prefix += c;
  return prefix;
}

key_page list_keys(coordination::service const& from, key_query const& wanted) {
  return wanted.folders ? list_folders(from, wanted) : list_flat(from, wanted);
}

void key_page_members(member_list const& m, key_page const& page, key_query const& wanted) {
  m.when(wanted.folders)("folders", page.folders);
  m.list("keys", page.keys, [&wanted](coordination::key_view const& k) {
    return shown_key{&k, wanted.values};
  });
  m.when(page.more)("next_page_token", page_token('k', page.last));
}

void members(member_list const& m, key_waits const& waits) {
  std::map<std::string_view, std::vector<std::string_view>> by_task;
  for (auto const& k : waits.keys)
    for (auto const& waiter : k.waiters) by_task[waiter.task].push_back(k.key);
  auto const waiter_members = [&waits](member_list const& of,
                                       coordination::key_wait_view::waiter const& w) {
    of("task", w.task);
    of("since_ms", w.since);
    of("waiting_ms", ms_since(w.since, waits.now));
    of("time_left_ms", time_left(w.deadline, waits.now));
  };
  m.list("keys", waits.keys, [&](member_list const& of, coordination::key_wait_view const& k) {
    of("key", k.key);
    of("count", k.count);
    of.list("waiters", k.waiters, waiter_members);
  });
  m.list("tasks", by_task, [](member_list const& of, auto const& waits_for) {
    of("task", waits_for.first);
    of("keys", waits_for.second);
  });
  m("more", waits.more);
}

}  // namespace muster::web
