#include "muster/make_resolver.hpp"

#include <algorithm>

#include "launch/cluster/resolver_text.hpp"
#include "muster/union_resolver.hpp"

namespace muster {
namespace {

using cluster::invalid;
using cluster::quoted;

bool is_spelled_like_a_kind(char c) {
  return (c >= 'a' && c <= 'z') || c == '-';
}

std::string_view kind_of(std::string_view text) {
  auto const end = std::find_if_not(text.begin(), text.end(), is_spelled_like_a_kind);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    auto const end = find_outside_json(text, ';');
    parts.push_back(cluster::trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::pair<std::string, std::string> key_and_value(resolver_kind const& kind,
                                                  std::string_view part) {
  auto const equals = part.find('=');
  std::string const key(cluster::trimmed(part.substr(0, equals)));
  std::vector<std::string> known;
  for (auto const& k : kind.keys) known.push_back(k.name);
  if (std::find(known.begin(), known.end(), key) == known.end())
    throw invalid(kind.name + ": unknown key " + quoted(key) +
                  " (known keys: " + cluster::listed(known) + ")");
  if (equals == std::string_view::npos)
    throw invalid(kind.name + ": the key " + key + " has no value; write " + key + "=…");
  return {key, std::string(cluster::trimmed(part.substr(equals + 1)))};
}

}  // namespace

std::size_t find_outside_json(std::string_view text, char wanted, std::size_t from) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == wanted && depth == 0 && i >= from) {
      return i;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    } else if (c == '"' && depth > 0) {
      in_string = true;
    }
  }
  return std::string_view::npos;
}

cluster_error resolver_arguments::invalid_value_error(std::string const& key,
                                                      std::string const& what) const {
  return invalid(kind_ + ": " + key + ": " + what);
}

std::optional<std::string> resolver_arguments::text(std::string const& key) const {
  auto const found = keys_.find(key);
  if (found == keys_.end()) return {};
  return found->second;
}

std::string resolver_arguments::text_or(std::string const& key, std::string const& fallback) const {
  return text(key).value_or(fallback);
}

std::optional<int> resolver_arguments::number(std::string const& key, int least, int most) const {
  auto const given = text(key);
  if (!given) return {};
  auto const n = cluster::parse_count(*given, most);
  if (!n || *n < least)
    throw invalid_value_error(key, quoted(*given) + " is not a number from " +
                                       std::to_string(least) + " to " + std::to_string(most));
  return n;
}

std::optional<bool> resolver_arguments::flag(std::string const& key) const {
  auto const given = text(key);
  if (!given) return {};
  if (*given != "true" && *given != "false")
    throw invalid_value_error(key, quoted(*given) + " is neither true nor false");
  return *given == "true";
}

void resolver_kinds::add(resolver_kind kind) {
  auto const same = [&](resolver_kind const& k) { return k.name == kind.name; };
  kinds_.erase(std::remove_if(kinds_.begin(), kinds_.end(), same), kinds_.end());
  kinds_.push_back(std::move(kind));
}

resolver_kind const* resolver_kinds::find(std::string_view name) const {
  auto const found = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](resolver_kind const& k) { return k.name == name; });
  return found == kinds_.end() ? nullptr : &*found;
}

// Treats a `+` as a separator only before a known kind, because file names can contain a `+`.
std::vector<std::string_view> resolver_kinds::members(std::string_view text) const {
  std::vector<std::string_view> all;
  std::size_t begin = 0, from = 0;
  for (;;) {
    auto const plus = find_outside_json(text, '+', from);
    if (plus == std::string_view::npos) break;
    auto const next = cluster::trimmed(text.substr(plus + 1));
    auto const kind = kind_of(next);
    auto const ends = kind.size() == next.size() || next[kind.size()] == ':' ||
                      next[kind.size()] == '+' || next[kind.size()] == ' ';
    if (ends && find(kind) != nullptr) {
      all.push_back(text.substr(begin, plus - begin));
      begin = plus + 1;
    }
    from = plus + 1;
  }
  all.push_back(text.substr(begin));
  return all;
}

std::shared_ptr<cluster_resolver> resolver_kinds::make_one(
    std::string_view text, environment_lookup const& environment) const {
  text = cluster::trimmed(text);
  auto const colon = text.find(':');
  auto const name = cluster::trimmed(text.substr(0, colon));
  auto const* kind = find(name);
  if (kind == nullptr) {
    std::vector<std::string> known;
    for (auto const& k : kinds_) known.push_back(k.name);
    throw invalid("unknown resolver kind " + quoted(name) +
                  " (known kinds: " + cluster::listed(known) + ")");
  }
  if (!kind->unavailable.empty()) throw invalid(kind->name + ": " + kind->unavailable);
  auto const rest = colon == std::string_view::npos ? std::string_view()
                                                    : cluster::trimmed(text.substr(colon + 1));
  auto parts = rest.empty() ? std::vector<std::string_view>() : parts_of(rest);
  std::string value;
  if (!kind->value.empty()) {
    if (parts.empty() || parts.front().empty())
      throw invalid(kind->name + ": missing " + kind->value + "; write " + kind->name + ":" +
                    kind->value);
    value = parts.front();
    parts.erase(parts.begin());
  }
  std::map<std::string, std::string> keys;
  for (auto const part : parts)
    if (auto const key = key_and_value(*kind, part); !keys.insert(key).second)
      throw invalid(kind->name + ": the key " + key.first + " is given twice");
  return kind->make({kind->name, std::move(value), std::move(keys), environment});
}

std::shared_ptr<cluster_resolver> resolver_kinds::make(
    std::string_view text, environment_lookup const& environment) const {
  if (text.size() > text_bytes_max)
    throw invalid("the resolver text is longer than " + std::to_string(text_bytes_max) +
                  " bytes; store the cluster in a file");
  auto const texts = members(text);
  if (texts.size() > union_max)
    throw invalid("a union can contain at most " + std::to_string(union_max) + " resolvers");
  std::vector<std::shared_ptr<cluster_resolver>> made;
  for (auto const t : texts) made.push_back(make_one(t, environment));
  if (made.size() == 1) return made.front();
  return std::make_shared<union_resolver>(std::move(made));
}

std::shared_ptr<cluster_resolver> make_resolver(std::string_view text,
                                                environment_lookup const& environment) {
  return local_resolver_kinds().make(text, environment);
}

}  // namespace muster
