// Pages of keys flat and by folder, and the waits for keys by key and by task.
#include "web/rest/key_listing.hpp"

#include <map>

#include "web/http/query.hpp"
#include "web/json/cluster_json.hpp"

namespace muster::web {

namespace {

// Greater than every key in the folder: keys are UTF-8, where this byte does not occur.
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

// One look-up an entry: a folder of a million keys costs no more than a key.
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

void write(json_out& out, coordination::key_wait_view const& w, core::time_point now) {
  auto const object = out.object();
  out.key("key").string(w.key);
  out.key("count").number(w.count);
  out.key("waiters").begin_array();
  for (auto const& waiter : w.waiters) {
    auto const entry = out.object();
    out.key("task").string(waiter.task);
    out.key("since_ms").number(core::to_unix_ms(waiter.since));
    out.key("waiting_ms").number(ms_since(waiter.since, now));
    out.key("time_left_ms");
    if (waiter.deadline == core::never)
      out.null();
    else
      out.number(ms_since(now, waiter.deadline));
  }
  out.end_array();
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

std::string key_page_text(key_page const& page, key_query const& wanted) {
  return json_line([&](json_out& out) {
    auto const object = out.object();
    if (wanted.folders) {
      out.key("folders").strings(page.folders);
    }
    out.key("keys").begin_array();
    for (auto const& k : page.keys) write(out, k, wanted.values);
    out.end_array();
    if (page.more) out.key("next_page_token").string(page_token('k', page.last));
  });
}

std::string key_waits_text(key_waits const& waits) {
  std::map<std::string_view, std::vector<std::string_view>> by_task;
  return json_line([&](json_out& out) {
    auto const object = out.object();
    out.key("keys").begin_array();
    for (auto const& k : waits.keys) {
      write(out, k, waits.now);
      for (auto const& waiter : k.waiters) by_task[waiter.task].push_back(k.key);
    }
    out.end_array();
    out.key("tasks").begin_array();
    for (auto const& [task, keys] : by_task) {
      out.begin_object();
      out.key("task").string(task);
      out.key("keys").strings(keys).end_object();
    }
    out.end_array();
    out.key("more").boolean(waits.more);
  });
}

}  // namespace muster::web
