// The tests of this program cover the API's description. ctest runs each test in its own process.
// Each process writes the described items that its test has seen to a file in MUSTER_CONTRACT_SEEN,
// and the last process reads these files.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/web/contract/contract.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct exception {
  std::string_view what, why;

  bool is(std::string_view unseen) const {
    return what.ends_with('*') ? unseen.starts_with(what.substr(0, what.size() - 1))
                               : unseen == what;
  }
};

/// Items that no test of this program covers, and the test that does. A trailing * matches any
/// suffix.
constexpr exception exceptions[] = {
    {"any 421", "http.loopback_answers_only_allowed_host_names, from a socket"},
    {"any 431", "http.a_header_beyond_the_limit_is_a_431, from a socket"},
    {"ClosureView.value_spilled", "spill.*, over a real disk"},
    {"RemoteValueView.spilled", "spill.*, over a real disk"},
    {"ClosureView.value_released", "value_age.* and spill.*: days pass, or a disk is full"},
    {"RemoteValueView.released", "value_age.* and spill.*"},
    {"ResultLine.released", "value_age.* and spill.*"},
    {"RemoteValuePage.remote_values.released", "value_age.* and spill.*"},
    {"ValuePreview.released", "value_age.* and spill.*"},
    {"ClosureView.dependents_more", "more than 100: listings.* of the core"},
    {"WorkerClosures.sent_ahead.id", "listings.* of the core: the window of a worker has to grow"},
    {"WorkerClosures.sent_ahead.job", "the same"},
    {"WorkerClosures.sent_ahead.index", "the same"},
    {"WorkerClosures.sent_ahead.function", "the same"},
    {"WorkerClosures.sent_ahead.since_ms", "the same"},
    {"putBlob 507", "BlobStore.FullDiskIsReported"},
    {"Overview.durable.store_version", "standby.*, with a real etcd"},
    {"Overview.durable.leader", "standby.*, with a real etcd"},
    {"Overview.durable.lease_left_ms", "standby.*"},
    {"Session.read_only", "history_on_disk.*, of a server that is gone"},
    {"JobView.not_kept", "view_jobs.session_reports_how_many_closures_a_restart_did_not_keep"},
    {"WorkPage.runs.not_kept", "the same"},
    {"AgentView.unheard", "restart.tasks_silent_since_the_restart_are_reported_separately"},
    {"ProgramView.coordination_cluster",
     "programs_e2e.each_attempt_has_its_own_cluster_generation_on_loopback"},
    {"ProgramView.lost_workers*", "python.test_lost_workers, by workers that are processes"},
    {"RankList.ranks.worker_lost", "python.test_lost_workers, by workers that are processes"},
    {"ProgramView.hang*", "python.test_hangs, by ranks that are processes"},
    {"ProgramView.steps.*", "python.test_steps, by ranks that are processes"},
    {"AttemptDetail.barriers.*", "black_boxes.*, clusters_of_programs.*"},
    {"AttemptDetail.latecomers.*", "black_boxes.*, clusters_of_programs.*"},
    {"AttemptDetail.events_left_out", "black_boxes.*"},
    {"AttemptDetail.ranks_left_out", "black_boxes.*"},
    {"AttemptDetail.stacks_left_out", "black_boxes.*"},
    {"AttemptDetail.stacks.ranks.worker", "attempts.*, by ranks that are processes"},
    {"JobDurations.tables_gone", "times_of_jobs.lose_the_tables_of_the_oldest_beyond_their_limit"},
    {"Failure.dependencies", "fault_tolerance.*, by functions of real workers"},
};

using items = std::set<std::string>;

items unseen_items() {
  auto const list = contract::instance().unseen();
  return {list.begin(), list.end()};
}

/// The only test of this process, as a file name.
std::string name_of_test() {
  std::string name;
  auto const& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    auto const& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j)
      if (auto const& t = *suite.GetTestInfo(j); t.should_run())
        name = std::string(suite.name()) + "." + t.name();
  }
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

class observation : public ::testing::Environment {
  void SetUp() override {
    if (auto const* const to = std::getenv("MUSTER_CONTRACT_SEEN")) {
      folder_ = to;
      before_ = unseen_items();
    }
  }
  void TearDown() override {
    if (folder_.empty()) return;
    auto const after = unseen_items();
    if (after.size() == before_.size()) return;
    std::filesystem::create_directories(folder_);
    std::ofstream file(folder_ / name_of_test());
    std::set_difference(before_.begin(), before_.end(), after.begin(), after.end(),
                        std::ostream_iterator<std::string>(file, "\n"));
  }
  std::filesystem::path folder_;
  items before_;
};

[[maybe_unused]] auto* const observed = ::testing::AddGlobalTestEnvironment(new observation);

TEST(api_description, is_covered) {
  auto const* const folder = std::getenv("MUSTER_CONTRACT_SEEN");
  ASSERT_TRUE(folder) << "run 'ctest -R api_description_is_covered'";
  auto left = unseen_items();
  for (auto const& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path());
    for (std::string item; std::getline(in, item);) left.erase(item);
  }
  for (auto const& what : left)
    if (std::ranges::none_of(exceptions, [&](exception const& e) { return e.is(what); }))
      ADD_FAILURE() << what << " is documented, but no test has received it";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::web::test
