#include "web/notices/notices.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "web/alerts/words.hpp"
#include "web/json/json_out.hpp"

namespace muster::web {
namespace {

constexpr std::size_t attachments_max = 20;
constexpr std::size_t detail_bytes_max = 2'000;

// Alerts about past events disappear only because they become old.
bool is_live(alert const& a) {
  constexpr std::array past{"job-failed",      "jobs-failed",    "session-failed",
                            "sessions-failed", "program-failed", "programs-failed",
                            "run-failed"};
  return std::none_of(past.begin(), past.end(), [&a](char const* rule) { return a.rule == rule; });
}

// Slack would interpret these characters as a mention, link or entity.
std::string escaped(std::string_view text) {
  std::string out;
  for (char const c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string cut(std::string const& text) {
  if (text.size() <= detail_bytes_max) return text;
  auto end = detail_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

void attach(json_out& out, alert const& a, bool over, std::string_view page) {
  auto const object = out.object();
  out.key("color").string(over                                  ? "good"
                          : a.severity == alert_severity::error ? "danger"
                                                                : "warning");
  out.key("title").string(escaped((over ? "Resolved: " : "") + a.title));
  if (!page.empty() && !a.link.empty()) out.key("title_link").string(std::string(page) + a.link);
  if (!over) out.key("text").string(escaped(cut(a.detail)));
  if (a.since != core::never) {
    auto const since = a.since.time_since_epoch();
    out.key("ts").number(std::chrono::duration_cast<std::chrono::seconds>(since).count());
  }
  out.key("footer").string(a.rule);
}

std::string headline(notice const& n) {
  std::string text;
  for (auto const* const all : {&n.began, &n.over}) {
    if (all->empty()) continue;
    if (!text.empty()) text += "; ";
    text += all == &n.over ? "resolved: " : "";
    text += all->front().title;
    if (all->size() > 1) text += " and " + counted(all->size() - 1, "more alert");
  }
  return "Muster: " + text;
}

}  // namespace

notice notification_board::look(alerts const& now) {
  notice n;
  for (auto& [key, k] : known_) k.here = false;
  for (auto const& a : now) {
    auto const key = key_of(a);
    auto it = known_.find(key);
    bool const anew = it == known_.end();
    if (anew && known_.size() >= known_max) continue;
    if (anew) it = known_.emplace(key, known{a}).first;
    auto& k = it->second;
    bool const of_before = !checked_once_ && (a.since == core::never || a.since < started_);
    if (anew ? of_before : !k.told) {
      k.told = true;
      if (!of_before) n.began.push_back(a);
    }
    k.here = true;
    k.what = a;
  }
  for (auto it = known_.begin(); it != known_.end();) {
    if (it->second.here) {
      ++it;
      continue;
    }
    if (it->second.told && is_live(it->second.what)) n.over.push_back(std::move(it->second.what));
    it = known_.erase(it);
  }
  checked_once_ = true;
  return n;
}

std::string slack_text(notice const& n, std::string_view page) {
  std::string text;
  json_out out(text);
  auto const object = out.object();
  out.key("text").string(escaped(headline(n)));
  out.key("attachments").begin_array();
  std::size_t left = attachments_max;
  for (auto const& a : n.began)
    if (left > 0) attach(out, a, false, page), --left;
  for (auto const& a : n.over)
    if (left > 0) attach(out, a, true, page), --left;
  out.end_array();
  return text;
}

}  // namespace muster::web
