// The list of verbs, in the order of `muster --help`.
#include "cli/command.hpp"
#include "cli/settings.hpp"
#include "cli/verbs/operators.hpp"

namespace muster::cli {

void add_verbs(CLI::App& app, choice& chosen) {
  for (auto* add :
       {add_serve,      add_worker,  add_run,   add_submit, add_jobs,       add_fetch, add_cancel,
        add_retry,      add_explain, add_tasks, add_cordon, add_barriers,   add_kv,    add_clusters,
        add_per_worker, add_events,  add_logs,  add_trace,  add_doctor,     add_top,   add_resolve,
        add_data,       add_token,   add_tls,   add_proxy,  add_completion, add_man,   add_version})
    add(app, chosen);
#ifdef MUSTER_WITH_BENCH
  muster::bench::add_command(app);
#endif
  settings::install(app);
}

}  // namespace muster::cli
