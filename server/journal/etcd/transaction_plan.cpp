#include "server/journal/etcd/transaction_plan.hpp"

#include <set>

namespace muster::server::journal::etcd {
namespace {

struct outcome {
  std::map<std::string_view, change const*> last;
  std::set<std::string_view> cleared;  // erased prefixes; no prefix starts with another prefix

  explicit outcome(std::vector<change> const& batch) {
    for (auto const& c : batch) {
      if (c.what != change::kind::erase_below)
        last[c.key] = &c;
      else
        clear(c.key);
    }
  }

  bool is_cleared(std::string_view key) const {
    auto const it = cleared.upper_bound(key);
    return it != cleared.begin() && key.starts_with(*std::prev(it));
  }

 private:
  void clear(std::string_view prefix) {
    auto const forget = [&](auto& from, auto const& key_of) {
      auto it = from.lower_bound(prefix);
      while (it != from.end() && key_of(*it).starts_with(prefix)) it = from.erase(it);
    };
    forget(last, [](auto const& l) { return l.first; });
    if (is_cleared(prefix)) return;
    forget(cleared, [](auto const& p) { return p; });
    cleared.insert(prefix);
  }
};

class planner {
 public:
  planner(names const& n, plan& into) : names_(n), into_(into) {}

  void entry(std::string_view key, change const& c, bool cleared) {
    drop_pieces(key);
    if (c.what == change::kind::put)
      write(key, c.value);
    else if (!cleared)
      add(erase(names_.entry(key)));
  }

  void clear(std::string_view prefix, outcome const& o) {
    auto& numbers = into_.pieces.numbers;
    for (auto it = numbers.lower_bound(prefix);
         it != numbers.end() && it->first.starts_with(prefix);) {
      auto const put_anew = o.last.find(it->first);
      if (put_anew != o.last.end() && put_anew->second->what == change::kind::put) {
        ++it;  // the entry's old pieces were erased with `entry`
        continue;
      }
      add(erase(names_.pieces(it->second), behind(names_.pieces(it->second))));
      it = numbers.erase(it);
    }
    // Erases only the ranges between the keys that are written.
    auto from = names_.entry(prefix);
    auto const end = behind(from);
    for (auto it = o.last.lower_bound(prefix); it != o.last.end() && it->first.starts_with(prefix);
         ++it) {
      if (it->second->what != change::kind::put) continue;
      auto const kept = names_.entry(it->first);
      if (from < kept) add(erase(from, kept));
      from = kept + '\0';
    }
    if (from < end) add(erase(from, end));
  }

 private:
  void add(wire::RequestOp o) { into_.operations.push_back(std::move(o)); }

  void drop_pieces(std::string_view key) {
    auto const it = into_.pieces.numbers.find(key);
    if (it == into_.pieces.numbers.end()) return;
    add(erase(names_.pieces(it->second), behind(names_.pieces(it->second))));
    into_.pieces.numbers.erase(it);
  }

  void write(std::string_view key, std::string const& value) {
    if (value.size() <= piece_bytes) return add(put(names_.entry(key), "=" + value));
    auto const number = into_.pieces.next++;
    into_.pieces.numbers.emplace(key, number);
    add(put(names_.piece(number, 0), std::string(key)));
    for (std::size_t i = 0; i * piece_bytes < value.size(); ++i)
      add(put(names_.piece(number, i + 1), value.substr(i * piece_bytes, piece_bytes)));
    add(put(names_.entry(key), reference(number)));
  }

  names const& names_;
  plan& into_;
};

}  // namespace

std::string reference(std::uint64_t number) {
  return "#" + std::to_string(number);
}
std::optional<std::uint64_t> referenced(std::string_view value) {
  if (!value.starts_with('#')) return {};
  return parse_number(value.substr(1));
}

plan plan_of(names const& n, std::vector<change> const& batch, piece_table pieces) {
  plan p{{}, std::move(pieces)};
  outcome const o(batch);
  planner planning(n, p);
  for (auto const& [key, c] : o.last) planning.entry(key, *c, o.is_cleared(key));
  for (auto const& prefix : o.cleared) planning.clear(prefix, o);
  return p;
}

std::vector<std::vector<wire::RequestOp>> cut(std::vector<wire::RequestOp> operations,
                                              std::size_t count_max, std::size_t bytes_max) {
  std::vector<std::vector<wire::RequestOp>> parts;
  std::size_t bytes = bytes_max;
  for (auto& o : operations) {
    auto const size = o.ByteSizeLong() + 8;  // plus tag and length
    if (parts.empty() || parts.back().size() == count_max || bytes + size > bytes_max) {
      parts.emplace_back();
      bytes = 0;
    }
    bytes += size;
    parts.back().push_back(std::move(o));
  }
  return parts;
}

wire::RequestOp put(std::string key, std::string value) {
  wire::RequestOp o;
  o.mutable_request_put()->set_key(std::move(key));
  o.mutable_request_put()->set_value(std::move(value));
  return o;
}
wire::RequestOp erase(std::string key) {
  wire::RequestOp o;
  o.mutable_request_delete_range()->set_key(std::move(key));
  return o;
}
wire::RequestOp erase(std::string key, std::string end) {
  auto o = erase(std::move(key));
  o.mutable_request_delete_range()->set_range_end(std::move(end));
  return o;
}

}  // namespace muster::server::journal::etcd
