#include "server/core/access/token_table.hpp"

#include <algorithm>

namespace muster::core {
namespace {

bool is_id(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

status check(token const& t, time_point now) {
  if (t.id.empty() || t.id.size() > token_table::id_bytes_max)
    return wrong_field(
        "name", "must have 1 to " + std::to_string(token_table::id_bytes_max) + " characters",
        token_table::id_bytes_max);
  if (!is_id(t.id))
    return wrong_field("name", "'" + t.id + "' contains characters other than A-Z a-z 0-9 _ -");
  if (t.clusters.size() > token_table::clusters_max)
    return wrong_field("clusters",
                       std::to_string(t.clusters.size()) + " clusters, the limit is " +
                           std::to_string(token_table::clusters_max),
                       token_table::clusters_max);
  if (t.role == role::admin && !t.clusters.empty())
    return wrong_field(
        "clusters",
        "an admin token is valid for the whole server and cannot be limited to clusters");
  if (t.expires <= now) return wrong_field("expires", "must be in the future");
  return {};
}

}  // namespace

status token_table::step(create_token e, time_point now) {
  if (auto bad = check(e.token, now); !bad.ok()) return bad;
  if (tokens_.contains(e.token.id))
    return {code::already_exists, "token '" + e.token.id + "' already exists"};
  if (tokens_.size() >= tokens_max)
    return {code::resource_exhausted, "the server has " + std::to_string(tokens_.size()) +
                                          " tokens, which is the limit; revoke unused tokens"};
  restore(std::move(e.token));
  return {};
}

status token_table::step(revoke_token const& e, time_point now) {
  auto const it = tokens_.find(e.id);
  if (it == tokens_.end()) return {code::not_found, "there is no token '" + e.id + "'"};
  if (it->second->from_file)
    return {code::failed_precondition,
            "'" + e.id + "' is defined in --token-file; remove it from that file"};
  if (it->second->role == role::admin && last_admin(e.id, now))
    return {code::failed_precondition,
            "'" + e.id + "' is the last admin token; create another admin token first"};
  tokens_.erase(it);
  return {};
}

status token_table::step(rotate_token e) {
  auto const it = tokens_.find(e.id);
  if (it == tokens_.end()) return {code::not_found, "there is no token '" + e.id + "'"};
  if (it->second->from_file)
    return {code::failed_precondition,
            "'" + e.id + "' is defined in --token-file; change it in that file"};
  auto changed = *it->second;
  changed.salt = std::move(e.salt);
  changed.digest = std::move(e.digest);
  it->second = std::make_shared<token const>(std::move(changed));
  return {};
}

std::vector<std::string> token_table::replace_file(std::vector<token> all) {
  std::vector<std::string> gone;
  std::map<std::string, token> wanted;
  for (auto& t : all) wanted.insert_or_assign(t.id, std::move(t));
  for (auto it = tokens_.begin(); it != tokens_.end();) {
    auto const found = wanted.find(it->first);
    bool const same = found != wanted.end() && *it->second == found->second;
    if (!it->second->from_file || same) {
      if (same) wanted.erase(found);
      ++it;
      continue;
    }
    gone.push_back(it->first);
    it = tokens_.erase(it);
  }
  for (auto& [id, t] : wanted)
    if (!tokens_.contains(id)) restore(std::move(t));
  return gone;
}

caller token_table::find(std::string_view id) const {
  auto const it = tokens_.find(id);
  return it == tokens_.end() ? nullptr : it->second;
}

time_point token_table::next_expiry(time_point now) const {
  auto first = never;
  for (auto const& [id, t] : tokens_)
    if (t->expires > now) first = std::min(first, t->expires);
  return first;
}

bool token_table::last_admin(std::string_view but, time_point now) const {
  return std::none_of(tokens_.begin(), tokens_.end(), [&](auto const& entry) {
    auto const& t = *entry.second;
    return t.role == role::admin && t.id != but && t.expires > now;
  });
}

}  // namespace muster::core
