// Builds text in the Prometheus format.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/coordination/api/coordination_views.hpp"
#include "server/history/metrics/closure_meter.hpp"

namespace muster::web {

class metric_text {
 public:
  struct label {
    std::string_view name, value;
  };

  metric_text& family(std::string_view name, std::string_view type, std::string_view help);
  template <class N>
  metric_text& sample(std::string_view name, std::string_view of, N value) {
    return write({{name, of}}, static_cast<double>(value));
  }
  template <class N>
  metric_text& sample(label one, label two, N value) {
    return write({one, two}, static_cast<double>(value));
  }

  template <class N>
  metric_text& gauge(std::string_view name, std::string_view help, N value) {
    return family(name, "gauge", help).write({}, static_cast<double>(value));
  }
  template <class N>
  metric_text& counter(std::string_view name, std::string_view help, N value) {
    return family(name, "counter", help).write({}, static_cast<double>(value));
  }
  /// Writes buckets and sum in seconds.
  metric_text& histogram(std::string_view name, std::string_view help, history::histogram const& h);
  std::string take() { return std::move(text_); }

 private:
  metric_text& write(std::initializer_list<label> labels, double value);

  std::string text_, name_;
};

inline double seconds(core::duration d) {
  return std::chrono::duration<double>(d).count();
}

void write_clusters(metric_text& m, std::vector<core::coordination::cluster_view> const& clusters);

}  // namespace muster::web
