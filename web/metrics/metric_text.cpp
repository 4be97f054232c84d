#include "web/metrics/metric_text.hpp"

#include <charconv>

#include "base/text.hpp"

namespace muster::web {

namespace {

namespace coordination = core::coordination;

std::string escape_label(std::string_view text) {
  std::string out;
  for (char const c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

template <class F>
void write_family(metric_text& m, std::vector<coordination::cluster_view> const& clusters,
                  std::string_view name, std::string_view help, F value) {
  m.family(name, "gauge", help);
  for (auto const& c : clusters) m.sample("cluster", c.spec.name, value(c.generation));
}

void write_states(metric_text& m, std::vector<coordination::cluster_view> const& clusters) {
  using enum coordination::agent_health;
  m.family("muster_cluster_agents", "gauge", "Agents of a cluster, by state.");
  for (auto const& c : clusters)
    for (auto const h : {missing, registering, connected, late, error, disconnected})
      m.sample({"cluster", c.spec.name}, {"state", lower(coordination::name(h))},
               c.generation.by_health[static_cast<std::size_t>(h)]);
}

void write_parked(metric_text& m, std::vector<coordination::cluster_view> const& clusters) {
  m.family("muster_cluster_parked_calls", "gauge", "Waiting calls from agents, by kind.");
  for (auto const& c : clusters) {
    auto const& g = c.generation;
    auto const sample = [&](std::string_view kind, std::size_t n) {
      m.sample({"cluster", c.spec.name}, {"kind", kind}, n);
    };
    sample("poll", g.parked_polls);
    sample("key", g.parked_key_waits);
    sample("watch", g.parked_watches);
    auto const named = g.parked_polls + g.parked_key_waits + g.parked_watches;
    sample("other", g.parked_calls - std::min(named, g.parked_calls));
  }
}

}  // namespace

metric_text& metric_text::family(std::string_view name, std::string_view type,
                                 std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + " " + std::string(help) + "\n";
  text_ += "# TYPE " + name_ + " " + std::string(type) + "\n";
  return *this;
}

metric_text& metric_text::histogram(std::string_view name, std::string_view help,
                                    history::histogram const& h) {
  family(name, "histogram", help);
  name_ += "_bucket";
  std::uint64_t up_to = 0;
  for (std::size_t n = 0; n < history::histogram::buckets; ++n) {
    up_to += h.in(n);
    // These bounds, whole octaves from 64 µs, must not change: existing dashboards use them.
    if (n < history::histogram::first_exported || n % history::histogram::an_octave != 0) continue;
    char digits[40];
    auto const end =
        std::to_chars(digits, digits + sizeof digits, seconds(history::histogram::limit(n))).ptr;
    sample("le", {digits, static_cast<std::size_t>(end - digits)}, up_to);
  }
  sample("le", "+Inf", h.count());
  name_ = std::string(name) + "_sum";
  write({}, seconds(h.sum()));
  name_ = std::string(name) + "_count";
  return write({}, static_cast<double>(h.count()));
}

metric_text& metric_text::write(std::initializer_list<label> labels, double value) {
  text_ += name_;
  char before = '{';
  for (auto const& l : labels) {
    text_ += std::exchange(before, ',');
    text_ += std::string(l.name) + "=\"" + escape_label(l.value) + "\"";
  }
  if (labels.size() > 0) text_ += '}';
  char digits[40];
  auto const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text_ += ' ';
  text_.append(digits, end);
  text_ += '\n';
  return *this;
}

void write_clusters(metric_text& m, std::vector<coordination::cluster_view> const& clusters) {
  write_states(m, clusters);
  write_family(m, clusters, "muster_cluster_generation", "Number of the current run.",
               [](auto& g) { return g.number; });
  write_family(m, clusters, "muster_cluster_barriers_running",
               "Barriers at which tasks are waiting.", [](auto& g) { return g.barriers_running; });
  write_family(m, clusters, "muster_cluster_keys", "Keys in a cluster.",
               [](auto& g) { return g.keys; });
  write_family(m, clusters, "muster_cluster_key_bytes",
               "Bytes of the keys and values in a cluster.", [](auto& g) { return g.key_bytes; });
  write_parked(m, clusters);
}

}  // namespace muster::web
