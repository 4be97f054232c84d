#include "web/rest/work/work_selection.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/programs.hpp"
#include "server/core/api/vocabulary.hpp"
#include "web/json/json_in.hpp"

namespace muster::web {

namespace {

constexpr std::size_t name_key_bytes = 64;
constexpr std::size_t label_bytes_max = 200;
constexpr char work_letter = 'w';

std::set<run_kind> kinds_of(query_check& query) {
  std::set<run_kind> out;
  for (auto const& given : query.list("kind"))
    for (std::size_t i = 0; i < enum_size<run_kind>; ++i)
      if (equal_ignoring_case(given, muster::name(run_kind(i)))) out.insert(run_kind(i));
  return out;
}

// Adds the names of the states that `given` selects.
template <class State>
void add_states(std::set<std::string>& to, std::string_view given) {
  bool const unfinished = equal_ignoring_case(given, "UNFINISHED");
  for (std::size_t i = 0; i < enum_size<State>; ++i) {
    auto const s = State(i);
    if (equal_ignoring_case(given, core::name(s)) || (unfinished && !core::ended(s)))
      to.insert(std::string(core::name(s)));
  }
}

std::int64_t work_time_of(query_check& query, std::string_view name, std::int64_t otherwise) {
  auto const n = query.number(name, static_cast<std::uint64_t>(otherwise));
  return static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX));
}

std::string big_endian(std::uint64_t n) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[7 - i] = static_cast<char>(n >> (8 * i));
  return out;
}

std::uint64_t number_of_bytes(std::string_view bytes) {
  std::uint64_t n = 0;
  for (unsigned char const byte : bytes.substr(0, 8)) n = n << 8 | byte;
  return n;
}

// The order and the direction, so that a token is valid only for the listing that issued it.
char order_byte(work_query const& q) {
  return static_cast<char>(static_cast<int>(q.order) * 2 + (q.descending ? 1 : 0));
}

std::optional<work_place> work_place_of(query_check& query, work_query const& q) {
  auto const bytes = query.page_text(work_letter);
  if (bytes.empty()) return {};
  if (bytes.size() < 10 || bytes[0] != order_byte(q) ||
      static_cast<std::size_t>(bytes[1]) >= enum_size<run_kind>) {
    query.fail("page_token", "expected 'next_page_token' from a response of the same listing");
    return {};
  }
  return work_place{bytes.substr(10), run_kind(bytes[1]),
                    number_of_bytes(std::string_view(bytes).substr(2))};
}

std::string id_text(run_row const& r) {
  return r.kind == run_kind::program ? core::text(core::program_id{r.id})
                                     : core::text(core::session_id{r.id});
}

bool has_label(std::vector<std::string> const& labels, std::string const& wanted) {
  bool const whole = wanted.find('=') != std::string::npos;
  return std::any_of(labels.begin(), labels.end(), [&](std::string const& l) {
    return whole ? l == wanted : l.substr(0, l.find('=')) == wanted;
  });
}

}  // namespace

work_query work_query::read(query_check& query) {
  work_query q;
  q.limit = query.limit();
  q.kinds = kinds_of(query);
  for (auto const& given : query.list("state")) {
    add_states<core::job_state>(q.states, given);
    add_states<core::program_state>(q.states, given);
  }
  auto const users = query.list("user");
  q.users = {users.begin(), users.end()};
  q.labels = query.list("label");
  q.since_ms = work_time_of(query, "since_ms", 0);
  q.until_ms = work_time_of(query, "until_ms", INT64_MAX);
  q.text = lower(query.text("q"));
  for (std::size_t i = 0; i < enum_size<work_order>; ++i)
    if (equal_ignoring_case(query.text("sort"), muster::name(work_order(i))))
      q.order = work_order(i);
  q.descending = !equal_ignoring_case(query.text("order"), "asc");
  q.after = work_place_of(query, q);
  return q;
}

void work_selection::add(run_row const& row) {
  ++of_;
  auto const created = core::to_unix_ms(row.created);
  if (created < query_.since_ms || created > query_.until_ms) return;
  if (!query_.text.empty() && lower(row.name).find(query_.text) == std::string::npos &&
      id_text(row).find(query_.text) == std::string::npos)
    return;
  std::vector<std::string> labels;
  if (metadata_bytes_ + row.metadata.size() <= metadata_bytes_max) {
    metadata_bytes_ += row.metadata.size();
    labels = labels_of(row.metadata);
  }
  auto const user = row.user.empty() ? std::string(no_user) : row.user;
  std::string const state(row.state);
  bool const kind_fits = query_.kinds.empty() || query_.kinds.contains(row.kind);
  bool const state_fits = query_.states.empty() || query_.states.contains(state);
  bool const user_fits = query_.users.empty() || query_.users.contains(user);
  bool const labels_fit =
      std::all_of(query_.labels.begin(), query_.labels.end(),
                  [&](std::string const& wanted) { return has_label(labels, wanted); });
  if (state_fits && user_fits && labels_fit) ++facets_.kinds[static_cast<std::size_t>(row.kind)];
  if (kind_fits && user_fits && labels_fit) ++facets_.states[state];
  if (kind_fits && state_fits && labels_fit) ++facets_.users[user];
  if (kind_fits && state_fits && user_fits)
    for (auto const& l : labels)
      if (facets_.labels.size() < labels_max || facets_.labels.contains(l)) ++facets_.labels[l];
  if (!kind_fits || !state_fits || !user_fits || !labels_fit) return;
  ++matching_;
  keep({key_of(row), row.kind, row.id});
}

std::string work_selection::key_of(run_row const& row) const {
  auto const number = [](auto n) {
    return big_endian(static_cast<std::uint64_t>(std::max<std::int64_t>(0, n)));
  };
  auto const us = [](core::time_point t) { return std::int64_t{t.time_since_epoch().count()}; };
  switch (query_.order) {
    case work_order::created:
      break;
    case work_order::ended:
      return row.ended ? number(us(row.finished)) : number(INT64_MAX);
    case work_order::duration:
      return number(us(row.ended ? row.finished : now_) - us(row.created));
    case work_order::failed:
      return number(static_cast<std::int64_t>(row.failed));
    case work_order::name:
      return lower(row.name).substr(0, name_key_bytes);
  }
  return number(us(row.created));
}

void work_selection::keep(work_place place) {
  if (query_.after && !comes_before(*query_.after, place)) return;
  kept_.insert(std::move(place));
  if (kept_.size() > query_.limit + 1)
    kept_.erase(query_.descending ? kept_.begin() : std::prev(kept_.end()));
}

std::vector<work_place> work_selection::page() const {
  std::vector<work_place> out(kept_.begin(), kept_.end());
  if (query_.descending) std::reverse(out.begin(), out.end());
  if (out.size() > query_.limit) out.resize(query_.limit);
  return out;
}

std::string work_selection::next_token() const {
  if (kept_.size() <= query_.limit) return {};
  auto const last = page().back();
  std::string bytes{order_byte(query_), static_cast<char>(last.kind)};
  bytes += big_endian(last.id) + last.key;
  return page_token(work_letter, std::string_view(bytes));
}

std::vector<std::string> labels_of(std::string_view metadata) {
  std::vector<std::string> out;
  if (metadata.empty() || !is_json(metadata)) return out;
  json_ref const all(metadata);
  if (all.type() != json_type::object) return out;
  for (json_walk m(all); m.next();) {
    auto const type = m.value().type();
    if (type == json_type::object || type == json_type::array || type == json_type::null) continue;
    auto const value =
        type == json_type::string ? m.value().string() : std::string(m.value().text());
    auto label = m.key() + "=" + value;
    // A label with a comma could not be written in a filter.
    if (label.size() <= label_bytes_max && label.find(',') == std::string::npos)
      out.push_back(std::move(label));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace muster::web
