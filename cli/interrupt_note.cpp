// A signal handler prints the line, so the line is copied to an array beforehand.
#include "cli/interrupt_note.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace muster::cli {
namespace {

std::array<char, 512> note_text;
std::size_t note_length = 0;

void on_interrupt(int number) {
  [[maybe_unused]] auto const written = ::write(STDERR_FILENO, note_text.data(), note_length);
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

interrupt_note::interrupt_note(std::string const& line) {
  struct sigaction now {};
  ::sigaction(SIGINT, nullptr, &now);
  if (now.sa_handler == SIG_IGN) return;
  auto const whole = (::isatty(STDERR_FILENO) == 1 ? "\r\x1b[K" : "") + line + "\n";
  note_length = std::min(whole.size(), note_text.size());
  std::copy_n(whole.begin(), note_length, note_text.begin());
  installed_ = true;
  ::signal(SIGINT, on_interrupt);
}

interrupt_note::~interrupt_note() {
  if (installed_) ::signal(SIGINT, SIG_DFL);
}

}  // namespace muster::cli
