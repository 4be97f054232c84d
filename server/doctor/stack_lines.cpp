// Finds the main thread in a stack and its most relevant line.
#include <optional>

#include "server/doctor/hang_watch.hpp"

namespace muster::doctor {
namespace {

constexpr std::size_t line_bytes_max = 200;

struct frame {
  std::string_view file, number, function;  // `number` is empty for code without line numbers
};

// Parses ` File "train.py", line 12 in step`, or ` File "train" in step(int)`.
std::optional<frame> next_frame(std::string_view& text) {
  constexpr std::string_view begin = "  File \"", middle = ", line ", end = " in ";
  auto const at = text.find(begin);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + begin.size());
  auto line = text.substr(0, text.find('\n'));
  auto const quote = line.find('"');
  auto const function = line.find(end, quote == std::string_view::npos ? line.size() : quote);
  if (function == std::string_view::npos) return frame{};
  frame f{line.substr(0, quote), line.substr(quote + 1, function - quote - 1),
          line.substr(function + end.size())};
  if (f.number.starts_with(middle)) f.number.remove_prefix(middle.size());
  return f;
}

bool is_of_library(frame const& f) {
  return f.file.find("/lib/python3") != std::string_view::npos || f.file.starts_with("<frozen") ||
         (f.number.empty() && f.file.find(".so") != std::string_view::npos);
}

// Identifies a Python frame by the end of its path, or a native frame by the start of its function
// name. docs/programs.md contains this table.
struct known_frame {
  std::string_view operation;
  std::string_view file_end;        // empty for native code
  std::string_view function_begin;  // empty for all functions of this file
};

constexpr known_frame known_frames[] = {
    {"JAX", "/jax/experimental/multihost_utils.py", ""},
    {"JAX", "/jax/_src/distributed.py", "initialize"},
    {"JAX", "/jax/_src/distributed.py", "shutdown"},
    {"JAX", "/jax/_src/interpreters/pxla.py", "__call__"},
    {"JAX", "/jax/_src/pmap.py", "wrapped"},
    {"JAX", "/jax/_src/array.py", "_value"},
    {"JAX", "/jax/_src/array.py", "block_until_ready"},
    {"JAX", "/jax/_src/api.py", "block_until_ready"},
    {"torch.distributed", "/torch/distributed/distributed_c10d.py", ""},
    {"torch.distributed", "/torch/distributed/c10d_logger.py", "wrapper"},
    {"torch.distributed", "/torch/distributed/rendezvous.py", ""},
    {"torch.distributed", "/torch/distributed/_functional_collectives.py", ""},
    {"torch.distributed", "/torch/autograd/graph.py", "_engine_run_backward"},
    {"torch.distributed", "/torch/autograd/__init__.py", "backward"},
    {"Horovod", "/mpi_ops.py", "synchronize"},
    {"Horovod", "/mpi_ops.py", "barrier"},
    {"Horovod", "/horovod/common/basics.py", "init"},
    {"mpi4py", "/mpi4py/util/sync.py", ""},
    {"Muster", "/muster/agent/", "barrier"},
    {"Muster", "/muster/agent/", "wait_at_barrier"},
    {"Muster", "/muster/distribute/", "wait_for_other"},
    {"MPI", "", "MPI_"},
    {"MPI", "", "PMPI_"},
    {"NCCL", "", "nccl"},
    {"gloo", "", "gloo::"},
    {"torch.distributed", "", "c10d::"},
};

// Paths of uploaded files are relative to the rank's directory.
bool ends_with_path(std::string_view file, std::string_view end) {
  return file.ends_with(end) || file == end.substr(1);
}

bool is(frame const& f, known_frame const& k) {
  if (!f.function.starts_with(k.function_begin)) return false;
  if (k.file_end.empty()) return f.number.empty() || !f.file.ends_with(".py");
  if (!k.file_end.ends_with('/')) return ends_with_path(f.file, k.file_end);
  return f.file.find(k.file_end) != f.file.npos || f.file.starts_with(k.file_end.substr(1));
}

}  // namespace

std::string_view collective_of(std::string_view stack) {
  auto text = main_thread_of(stack);
  while (auto const f = next_frame(text))
    for (auto const& k : known_frames)
      if (is(*f, k)) return k.operation;
  return {};
}

std::string_view main_thread_of(std::string_view stack) {
  auto begin = std::string_view::npos;
  for (std::string_view const head : {"Thread ", "Current thread "})
    for (auto at = stack.rfind(head); at != std::string_view::npos && at != 0;
         at = stack.rfind(head, at - 1))
      if (stack[at - 1] == '\n') {
        if (begin == std::string_view::npos || at > begin) begin = at;
        break;
      }
  return stack.substr(begin == std::string_view::npos ? 0 : begin);
}

std::string line_of(std::string_view stack) {
  auto text = main_thread_of(stack);
  std::optional<frame> shown;
  while (auto const f = next_frame(text)) {
    if (f->file.empty()) continue;
    if (!shown) shown = f;
    if (is_of_library(*f)) continue;
    shown = f;
    break;
  }
  if (!shown) return {};
  auto line = std::string(shown->file);
  if (!shown->number.empty()) line += ':' + std::string(shown->number);
  line += " in " + std::string(shown->function);
  if (line.size() > line_bytes_max) line.erase(0, line.size() - line_bytes_max);
  return line;
}

}  // namespace muster::doctor
