// Builds text in the Prometheus format: families and their samples.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/metrics.hpp"
#include "server/core/coordination/api/views.hpp"

namespace muster::web {

class metric_text {
 public:
  struct label {
    std::string_view name, value;
  };

  /// Begins a family; the samples that follow belong to it.
  metric_text& family(std::string_view name, std::string_view type, std::string_view help);
  metric_text& sample(double value) { return write({}, value); }
  metric_text& sample(std::string_view name, std::string_view of, double value) {
    return write({{name, of}}, value);
  }
  metric_text& sample(label one, label two, double value) { return write({one, two}, value); }
  /// The buckets, sum and count of a family that is a histogram, in seconds.
  metric_text& histogram(core::histogram const& h);
  std::string take() { return std::move(text_); }

 private:
  metric_text& write(std::initializer_list<label> labels, double value);

  std::string text_, name_;
};

/// The families on clusters.
void write_clusters(metric_text& m, std::vector<core::coordination::cluster_view> const& clusters);

}  // namespace muster::web
