#include "server/hub/programs/last_lines.hpp"

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"

namespace muster::server {
namespace {

std::size_t end_of_escape(std::string_view text, std::size_t at) {
  auto const is = [&](std::size_t i, char from, char to) {
    return i < text.size() && text[i] >= from && text[i] <= to;
  };
  auto i = at + 1;
  if (is(i, '[', '[')) {
    for (++i; is(i, ' ', '?');) ++i;
    return std::min(i + 1, text.size());
  }
  if (is(i, ']', ']')) {  // titles and links, terminated by BEL or ESC backslash
    while (i < text.size() && text[i] != '\a' && text[i] != '\x1b') ++i;
    return std::min(i + (is(i, '\x1b', '\x1b') ? 2 : 1), text.size());
  }
  while (is(i, ' ', '/')) ++i;
  return std::min(i + 1, text.size());
}

// Returns the length of a C1 control, direction mark or override, or line separator. Returns 0 for
// a character that can be displayed.
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

std::string displayable_line(std::string_view printed) {
  auto const text = to_utf8(printed);
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    auto const c = static_cast<unsigned char>(text[i]);
    if (c == 0x1B) {
      i = end_of_escape(text, i);
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
  shown.resize(utf8_boundary(shown, last_line_bytes_max - more.size()));
  return shown.append(more);
}

last_lines::stored_program* last_lines::find_or_add(core::time_point now, attempt const& of) {
  auto it = programs_.find(of.program);
  if (it == programs_.end() && programs_.size() >= programs_max) {
    auto const oldest = std::min_element(
        programs_.begin(), programs_.end(),
        [](auto const& a, auto const& b) { return a.second.looked_at < b.second.looked_at; });
    if (oldest->second.looked_at + 2 * every > now) return nullptr;
    oldest->second.awaited.clear();
    call_if_complete(oldest->second);
    programs_.erase(oldest);
  }
  auto& p = it == programs_.end() ? programs_[of.program] : it->second;
  p.looked_at = now;
  if (p.attempt == of.number && p.lines.size() == of.ranks) return &p;
  p.awaited.clear();
  call_if_complete(p);
  p.attempt = of.number;
  p.asked_at = {};
  p.lines.assign(of.ranks, {});
  return &p;
}

void last_lines::refresh(core::time_point now, attempt const& of, worker_of const& worker,
                         send const& ask, std::function<void()> done) {
  auto* const found = find_or_add(now, of);
  if (!found) return done ? done() : void();
  auto& p = *found;
  if (std::erase_if(p.awaited, [now](auto const& a) { return a.second.since + patience <= now; }))
    call_if_complete(p);
  if (p.asked_at == core::time_point{} || p.asked_at + every <= now) {
    p.asked_at = now;
    std::map<core::stream_id, last_lines_query> queries;
    for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
      auto const stream = worker(rank);
      if (stream == core::stream_id{} || p.awaited.contains(stream)) continue;
      auto& q = queries.try_emplace(stream, last_lines_query{of.program, of.number, {}, {}})
                    .first->second;
      q.ranks.push_back(rank);
      q.sizes.push_back(p.lines[rank].size);
    }
    for (auto& [stream, q] : queries)
      if (ask(stream, q))
        p.awaited.emplace(stream, stored_program::question{std::move(q.ranks), now});
  }
  if (!done) return;
  if (p.awaited.empty() || p.waiting.size() >= waiting_max) return done();
  p.waiting.push_back(std::move(done));
}

void last_lines::deliver(core::stream_id stream, last_lines_answer answer) {
  auto const it = programs_.find(answer.program);
  if (it == programs_.end() || it->second.attempt != answer.attempt) return;
  auto& p = it->second;
  auto const asked = p.awaited.extract(stream);
  if (!asked) return;
  for (auto& l : answer.lines)
    if (auto const& ranks = asked.mapped().ranks;
        std::binary_search(ranks.begin(), ranks.end(), l.rank))
      p.lines[l.rank] = {l.size, displayable_line(l.text)};
  call_if_complete(p);
}

void last_lines::forget_worker(core::stream_id stream) {
  for (auto& [program, p] : programs_)
    if (p.awaited.erase(stream) > 0) call_if_complete(p);
}

void last_lines::fill(core::program_id program, std::uint32_t attempt,
                      std::vector<core::rank_view>& ranks) const {
  auto const it = programs_.find(program);
  if (it == programs_.end() || it->second.attempt != attempt) return;
  auto const& lines = it->second.lines;
  for (auto& r : ranks)
    if (r.rank < lines.size()) r.last_line = lines[r.rank].text;
}

void last_lines::call_if_complete(stored_program& p) {
  if (!p.awaited.empty()) return;
  for (auto const& done : std::exchange(p.waiting, {})) done();
}

}  // namespace muster::server
