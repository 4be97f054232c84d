// The description is valid, and the tests of this program cover it. The coverage is checked only if
// all tests run in one process (MUSTER_CONTRACT_COVERAGE).
#include <algorithm>
#include <cstdlib>

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

class coverage : public ::testing::Environment {
  void TearDown() override {
    if (!std::getenv("MUSTER_CONTRACT_COVERAGE")) return;
    for (auto const& what : contract::instance().unseen())
      if (std::ranges::none_of(exceptions, [&](exception const& e) { return e.is(what); }))
        ADD_FAILURE() << what << " is documented, but no test has received it";
  }
};

[[maybe_unused]] auto* const covered = ::testing::AddGlobalTestEnvironment(new coverage);

}  // namespace
}  // namespace muster::web::test
