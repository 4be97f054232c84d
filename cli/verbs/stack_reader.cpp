// muster stack-reader: names the frames of ranks' stacks for a worker, which starts this command.
// The help omits the command, because users do not run it.
#include <unistd.h>

#include "cli/command.hpp"
#include "client/programs/native_stacks.hpp"

namespace muster::cli {
namespace {

struct stack_reader_options {};

int run_stack_reader(stack_reader_options&) {
  return read_samples(STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace

void add_stack_reader(CLI::App& app, choice& chosen) {
  auto const added = add_verb(app, chosen, "stack-reader",
                              "Find the function names of sampled stacks", run_stack_reader);
  added.first->group("");
}

}  // namespace muster::cli
