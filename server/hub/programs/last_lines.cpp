// Questions for last lines, and what is made of what ranks have printed.
#include "server/hub/programs/last_lines.hpp"

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"

namespace muster::server {
namespace {

// Where the escape sequence that begins at `at` ends.
std::size_t behind_escape(std::string_view text, std::size_t at) {
  auto const is = [&](std::size_t i, char from, char to) {
    return i < text.size() && text[i] >= from && text[i] <= to;
  };
  auto i = at + 1;
  if (is(i, '[', '[')) {  // colours, movements
    for (++i; is(i, ' ', '?');) ++i;
    return std::min(i + 1, text.size());
  }
  if (is(i, ']', ']')) {  // titles, links: up to BEL or ESC backslash
    while (i < text.size() && text[i] != '\a' && text[i] != '\x1b') ++i;
    return std::min(i + (is(i, '\x1b', '\x1b') ? 2 : 1), text.size());
  }
  while (is(i, ' ', '/')) ++i;
  return std::min(i + 1, text.size());
}

// Bytes of a character that is not to be shown: C1 controls, marks and overrides of direction, and
// separators of lines. 0: it may be.
std::size_t hidden_at(std::string_view text, std::size_t at) {
  auto const byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  auto const b = byte(2);
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) return 2;
  if (byte(0) == 0xD8 && byte(1) == 0x9C) return 2;
  if (byte(0) != 0xE2) return 0;
  bool const marks = byte(1) == 0x80 && (b == 0x8E || b == 0x8F || (b >= 0xA8 && b <= 0xAE));
  bool const isolates = byte(1) == 0x81 && b >= 0xA6 && b <= 0xA9;
  return marks || isolates ? 3 : 0;
}

}  // namespace

std::string last_line_shown(std::string_view printed) {
  auto const text = to_utf8(printed);
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    auto const c = static_cast<unsigned char>(text[i]);
    if (c == 0x1B) {
      i = behind_escape(text, i);
    } else if (auto const hidden = hidden_at(text, i)) {
      i += hidden;
    } else {
      bool const blank = c <= 0x20 || c == 0x7F;
      if (!blank) shown += text[i];
      if (c == ' ' || (blank && !shown.ends_with(' '))) shown += ' ';
      ++i;
    }
  }
  shown.erase(0, shown.find_first_not_of(' '));
  shown.erase(shown.find_last_not_of(' ') + 1);
  if (shown.size() <= last_line_bytes_max) return shown;
  constexpr std::string_view more = "…";
  shown.resize(border_at(shown, last_line_bytes_max - more.size()));
  return shown.append(more);
}

last_lines::watched* last_lines::remember(core::time_point now, attempt_asked const& of) {
  auto it = watched_.find(of.program);
  if (it == watched_.end() && watched_.size() >= programs_max) {
    auto const oldest = std::min_element(
        watched_.begin(), watched_.end(),
        [](auto const& a, auto const& b) { return a.second.looked < b.second.looked; });
    if (oldest->second.looked + 2 * every > now) return nullptr;
    oldest->second.awaited.clear();
    settle(oldest->second);
    watched_.erase(oldest);
  }
  auto& w = it == watched_.end() ? watched_[of.program] : it->second;
  w.looked = now;
  if (w.attempt == of.attempt && w.lines.size() == of.ranks) return &w;
  w.awaited.clear();
  settle(w);
  w.attempt = of.attempt;
  w.asked = {};
  w.lines.assign(of.ranks, {});
  return &w;
}

void last_lines::look(core::time_point now, attempt_asked const& of, worker_of const& worker,
                      send const& ask, std::function<void()> done) {
  auto* const found = remember(now, of);
  if (!found) return done ? done() : void();
  auto& w = *found;
  if (std::erase_if(w.awaited, [now](auto const& a) { return a.second.since + patience <= now; }))
    settle(w);
  if (w.asked == core::time_point{} || w.asked + every <= now) {
    w.asked = now;
    std::map<core::stream_id, last_lines_query> queries;
    for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
      auto const stream = worker(rank);
      if (stream == core::stream_id{} || w.awaited.contains(stream)) continue;
      auto& q = queries.try_emplace(stream, last_lines_query{of.program, of.attempt, {}, {}})
                    .first->second;
      q.ranks.push_back(rank);
      q.sizes.push_back(w.lines[rank].size);
    }
    for (auto& [stream, q] : queries)
      if (ask(stream, q)) w.awaited.emplace(stream, watched::question{std::move(q.ranks), now});
  }
  if (!done) return;
  if (w.awaited.empty() || w.waiting.size() >= waiting_max) return done();
  w.waiting.push_back(std::move(done));
}

void last_lines::answered(core::stream_id stream, last_lines_answer answer) {
  auto const it = watched_.find(answer.program);
  if (it == watched_.end() || it->second.attempt != answer.attempt) return;
  auto& w = it->second;
  auto const asked = w.awaited.extract(stream);
  if (!asked) return;
  for (auto& l : answer.lines)
    if (auto const& ranks = asked.mapped().ranks;
        std::binary_search(ranks.begin(), ranks.end(), l.rank))
      w.lines[l.rank] = {l.size, last_line_shown(l.text)};
  settle(w);
}

void last_lines::gone(core::stream_id stream) {
  for (auto& [program, w] : watched_)
    if (w.awaited.erase(stream) > 0) settle(w);
}

void last_lines::show(core::program_id program, std::uint32_t attempt,
                      std::vector<core::rank_view>& ranks) const {
  auto const it = watched_.find(program);
  if (it == watched_.end() || it->second.attempt != attempt) return;
  auto const& lines = it->second.lines;
  for (auto& r : ranks)
    if (r.rank < lines.size()) r.last_line = lines[r.rank].text;
}

void last_lines::settle(watched& w) {
  if (!w.awaited.empty()) return;
  for (auto const& done : std::exchange(w.waiting, {})) done();
}

}  // namespace muster::server
