#include <charconv>
#include <set>

#include "launch/cluster/resolver_text.hpp"
#include "muster/slurm_resolver.hpp"

namespace muster {
namespace {

using cluster::invalid;
using cluster::quoted;

class hostlist {
 public:
  hostlist(std::string_view text, std::string const& origin, std::size_t most)
      : text_(text), origin_(origin), most_(most) {}

  std::vector<std::string> expand() {
    if (cluster::trimmed(text_).empty()) throw fault("the list is empty");
    for (auto const entry : entries())
      for (auto& host : expand_entry(entry)) {
        if (!seen_.insert(host).second)
          throw invalid(origin_ + ": the host " + quoted(host) + " is listed twice");
        hosts_.push_back(std::move(host));
        if (hosts_.size() > most_) throw too_many();
      }
    return std::move(hosts_);
  }

 private:
  cluster_error fault(std::string const& what) const {
    return invalid(origin_ + ": " + what + "; write a list as in n[1-2,05-07],m5");
  }
  cluster_error too_many() const {
    return invalid(origin_ + ": more than " + std::to_string(most_) + " hosts, which is the limit");
  }

  std::vector<std::string_view> entries() const {
    std::vector<std::string_view> all;
    std::size_t begin = 0;
    bool inside = false;
    for (std::size_t i = 0; i <= text_.size(); ++i) {
      if (i == text_.size() || (text_[i] == ',' && !inside)) {
        all.push_back(cluster::trimmed(text_.substr(begin, i - begin)));
        if (all.back().empty()) throw fault("there is a host without a name in " + quoted(text_));
        begin = i + 1;
      } else if (text_[i] == '[' || text_[i] == ']') {
        if (inside == (text_[i] == '[')) throw fault("a bracket is unbalanced in " + quoted(text_));
        inside = !inside;
      }
    }
    if (inside) throw fault("a bracket is unbalanced in " + quoted(text_));
    return all;
  }

  /// Expands "rack[0-1]n[1-2]" to the product; the last bracket varies fastest.
  std::vector<std::string> expand_entry(std::string_view entry) const {
    std::vector<std::string> names{""};
    while (!entry.empty()) {
      auto const open = entry.find('[');
      for (auto& name : names) check_size(name += entry.substr(0, open));
      if (open == std::string_view::npos) break;
      auto const close = entry.find(']', open);
      auto const numbers = expand_ranges(entry.substr(open + 1, close - open - 1));
      if (names.size() * numbers.size() > most_) throw too_many();
      std::vector<std::string> longer;
      for (auto const& name : names)
        for (auto const& number : numbers) longer.push_back(name + number);
      names = std::move(longer);
      entry.remove_prefix(close + 1);
    }
    for (auto const& name : names) check_name(name);
    return names;
  }

  void check_size(std::string const& name) const {
    constexpr std::size_t name_bytes_max = 253;  // maximum length of a DNS name
    if (name.size() > name_bytes_max)
      throw invalid(origin_ + ": the host " + quoted(name) + " has more than " +
                    std::to_string(name_bytes_max) + " bytes");
  }

  void check_name(std::string const& name) const {
    check_size(name);
    if (name.find_first_of(" \t:/\"'") != std::string::npos || cluster::has_control_character(name))
      throw fault(quoted(name) + " is not a host name");
  }

  std::vector<std::string> expand_ranges(std::string_view ranges) const {
    std::vector<std::string> numbers;
    for (auto const range : cluster::split(ranges, ',')) {
      auto const dash = range.find('-');
      auto const first = range.substr(0, dash);
      auto const last = dash == std::string_view::npos ? first : range.substr(dash + 1);
      auto const from = number(first, range), to = number(last, range);
      if (to < from) throw fault("the range " + quoted(range) + " must be ascending");
      if (to - from >= most_ || numbers.size() + (to - from) >= most_) throw too_many();
      for (auto n = from; n <= to; ++n) {
        auto const digits = std::to_string(n);
        auto const zeros = first.size() > digits.size() ? first.size() - digits.size() : 0;
        numbers.push_back(std::string(zeros, '0') + digits);
      }
    }
    return numbers;
  }

  std::uint64_t number(std::string_view digits, std::string_view range) const {
    constexpr std::size_t digits_max = 18;
    std::uint64_t n = 0;
    auto const [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (digits.empty() || digits.size() > digits_max || error != std::errc{} ||
        at != digits.data() + digits.size())
      throw fault(quoted(range) + " is neither a number nor a range");
    return n;
  }

  std::string_view const text_;
  std::string const& origin_;
  std::size_t const most_;
  std::set<std::string> seen_;
  std::vector<std::string> hosts_;
};

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view text, std::string const& origin,
                                         std::size_t hosts_max) {
  return hostlist(text, origin, hosts_max).expand();
}

std::vector<int> expand_task_counts(std::string_view text, std::string const& origin,
                                    std::size_t hosts_max) {
  constexpr auto most = static_cast<int>(cluster_spec::tasks_max);
  std::vector<int> counts;
  for (auto const entry : cluster::split(text, ',')) {
    auto const paren = entry.find("(x");
    auto const tasks = cluster::parse_count(cluster::trimmed(entry.substr(0, paren)), most);
    std::optional<int> times = 1;
    if (paren != std::string_view::npos) {
      auto const rest = cluster::trimmed(entry.substr(paren + 2));
      times = rest.ends_with(')') ? cluster::parse_count(rest.substr(0, rest.size() - 1), most)
                                  : std::nullopt;
    }
    if (!tasks || *tasks == 0 || !times || *times == 0)
      throw invalid(origin + ": " + quoted(entry) +
                    " is not a number of tasks; write counts as in 3(x2),2,1");
    if (counts.size() + static_cast<std::size_t>(*times) > hosts_max)
      throw invalid(origin + ": more than " + std::to_string(hosts_max) +
                    " hosts, which is the limit");
    counts.insert(counts.end(), static_cast<std::size_t>(*times), *tasks);
  }
  return counts;
}

}  // namespace muster
