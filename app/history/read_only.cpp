#include "app/history/read_only.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "server/history/store/history_store.hpp"
#include "server/hub/id_parsing.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/rocks_view.hpp"

namespace muster::server {
namespace {

namespace fs = std::filesystem;

core::time_point in_system_time(fs::file_time_type t) {
  return std::chrono::floor<core::duration>(std::chrono::file_clock::to_sys(t));
}

}  // namespace

core::time_point last_written(fs::path const& data_dir) {
  core::time_point last{};
  if (auto const history =
          history_store::open(data_dir / history_folder, {}, history_store::access::read))
    last = (*history)->newest();
  std::error_code error;
  for (auto const& f : fs::directory_iterator(data_dir, error)) {
    auto const name = f.path().filename().string();
    bool const is_log = name.ends_with(".log") || name.ends_with(".sst");
    if (is_log && f.is_regular_file(error))
      last = std::max(last, in_system_time(f.last_write_time(error)));
  }
  if (last != core::time_point{}) return last;
  return std::chrono::floor<core::duration>(std::chrono::system_clock::now());
}

std::vector<core::coordination::cluster_spec> main_cluster_in(fs::path const& data_dir) {
  auto const seen = journal::rocks_view::open(data_dir);
  auto const clusters = seen ? journal::load_clusters(**seen) : seen.error();
  if (!clusters) return {};
  std::vector<core::coordination::cluster_spec> own;  // clusters that do not belong to a program
  for (auto const& c : *clusters)
    if (!parse_program(c.cluster.spec.name)) own.push_back(c.cluster.spec);
  bool const has_default = std::any_of(own.begin(), own.end(), [](auto const& spec) {
    return spec.name == core::coordination::cluster_spec{}.name;
  });
  if (own.empty() || has_default) return {};
  own.resize(1);
  return own;
}

}  // namespace muster::server
