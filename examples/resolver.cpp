// Prints the jobs of this process's cluster, and its own task:  resolver [KIND]
// KIND is tf-config by default; see docs/resolvers.md for other kinds.
#include <cstdio>
#include <muster/cluster_error.hpp>
#include <muster/cluster_spec.hpp>
#include <muster/make_resolver.hpp>

int main(int argc, char** argv) try {
  auto const resolver = muster::make_resolver(argc > 1 ? argv[1] : "tf-config");
  auto const spec = resolver->cluster_spec();
  for (auto const& job : spec.jobs())
    std::printf("%zu tasks of job %s\n", spec.num_tasks(job), job.c_str());
  if (auto const type = resolver->task_type())
    std::printf("this is %s:%d\n", type->c_str(), resolver->task_id().value_or(0));
} catch (muster::cluster_error const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
