// Trains a classifier of handwritten digits asynchronously. Two parameter servers hold the weights.
// Workers read them, compute gradients of small batches and send these back, without waiting for
// each other.
//   train ps HOST:PORT      train worker HOST:PORT DIGITS.csv
//   train coordinator HOST:PORT DIGITS.csv CHECKPOINTS
// The coordinator saves checkpoints. After a restart, or when a parameter server is lost, it
// continues from the newest complete checkpoint. Workers can join and leave at any time. A line of
// DIGITS.csv is an image of 8 x 8 numbers from 0 to 16, and its digit; the last 397 are the test
// set. Parameter servers and workers can also run in Python: see examples/python.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <muster/cluster_coordinator.hpp>
#include <muster/variable.hpp>
#include <muster/worker.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using floats = std::vector<float>;
using variables = std::map<std::string, muster::variable<float>>;
using weights = std::map<std::string, floats>;

constexpr std::size_t pixels = 64, hidden_units = 32, classes = 10, batch = 64, for_training = 1400;
constexpr int steps_wanted = 1000, steps_per_closure = 20;

struct digits {
  std::vector<floats> images;
  std::vector<std::size_t> labels;
};

digits load(std::string const& path) {
  std::ifstream file(path);
  digits all;
  for (std::string line; std::getline(file, line);) {
    floats numbers;
    char* at = line.data();
    for (std::size_t i = 0; i <= pixels; ++i, ++at) numbers.push_back(std::strtof(at, &at));
    all.labels.push_back(static_cast<std::size_t>(numbers.back()));
    numbers.pop_back();
    for (auto& n : numbers) n /= 16;
    all.images.push_back(std::move(numbers));
  }
  if (all.images.size() <= for_training) throw std::runtime_error(path + ": too few images");
  return all;
}

weights read(variables const& model) {
  std::map<std::string, muster::remote_value<muster::array<float>>> values;
  for (auto const& [name, v] : model) values.emplace(name, v.read());  // all at once
  weights found;
  for (auto const& [name, v] : values) found[name] = v.fetch().data;
  return found;
}

// Returns bias + in · w.
floats layer(floats const& in, floats const& w, floats const& bias) {
  floats out = bias;
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += in[i] * w[i * out.size() + j];
  return out;
}

struct activity {
  floats hidden, chances;
};

activity forward(weights const& w, floats const& image) {
  activity a{layer(image, w.at("w1"), w.at("b1")), {}};
  for (auto& h : a.hidden) h = std::max(h, 0.0f);
  a.chances = layer(a.hidden, w.at("w2"), w.at("b2"));
  auto const most = *std::max_element(a.chances.begin(), a.chances.end());
  float sum = 0;
  for (auto& c : a.chances) sum += c = std::exp(c - most);
  for (auto& c : a.chances) c /= sum;
  return a;
}

void add_gradients(weights& to, weights const& w, floats const& image, std::size_t digit) {
  auto a = forward(w, image);
  a.chances[digit] -= 1;
  floats back(hidden_units);
  for (std::size_t i = 0; i < hidden_units; ++i)
    for (std::size_t j = 0; j < classes; ++j) {
      to["w2"][i * classes + j] += a.hidden[i] * a.chances[j];
      if (a.hidden[i] > 0) back[i] += a.chances[j] * w.at("w2")[i * classes + j];
    }
  for (std::size_t k = 0; k < pixels; ++k)
    for (std::size_t i = 0; i < hidden_units; ++i)
      to["w1"][k * hidden_units + i] += image[k] * back[i];
  for (std::size_t i = 0; i < hidden_units; ++i) to["b1"][i] += back[i];
  for (std::size_t j = 0; j < classes; ++j) to["b2"][j] += a.chances[j];
}

// Runs some steps on a worker, at least once each: if the worker is lost, some steps run again.
void train(digits const& data, variables const& model, muster::variable<std::int64_t> const& steps,
           unsigned seed) {
  std::mt19937 dice(seed);
  for (int step = 0; step < steps_per_closure; ++step) {
    auto const w = read(model);
    weights gradients;
    for (auto const& [name, values] : w) gradients[name].resize(values.size());
    for (std::size_t n = 0; n < batch; ++n) {
      auto const chosen = dice() % for_training;
      add_gradients(gradients, w, data.images[chosen], data.labels[chosen]);
    }
    for (auto const& [name, v] : model) v.sgd(gradients[name], 0.2 / batch);
    steps.assign_add(1).fetch();
  }
}

double accuracy(digits const& data, weights const& w) {
  std::size_t right = 0;
  for (auto n = for_training; n < data.images.size(); ++n) {
    auto const chances = forward(w, data.images[n]).chances;
    auto const best = std::max_element(chances.begin(), chances.end()) - chances.begin();
    right += static_cast<std::size_t>(best) == data.labels[n];
  }
  return static_cast<double>(right) / static_cast<double>(data.images.size() - for_training);
}

void coordinate(std::string const& server, digits const& data, std::string const& checkpoints) {
  // The names of a killed coordinator stay in use during session_grace.
  muster::cluster_coordinator c(
      {.server = server, .name = "digits", .session_grace = std::chrono::seconds(1)});
  std::mt19937 dice(0);
  auto const make = [&](std::string const& name, muster::shape const& of, float spread) {
    floats values(of[0] * (of.size() > 1 ? of[1] : 1));
    std::normal_distribution<float> normal(0, 1);
    for (auto& v : values) v = spread * normal(dice);
    return c.make_variable<float>({.name = name,
                                   .tasks = {"ps:0", "ps:1"},
                                   .partitioner = muster::fixed_shards_partitioner(2)},
                                  of, values);
  };
  variables const model{{"w1", make("w1", {pixels, hidden_units}, 0.125f)},
                        {"b1", make("b1", {hidden_units}, 0)},
                        {"w2", make("w2", {hidden_units, classes}, 0.17f)},
                        {"b2", make("b2", {classes}, 0)}};
  auto const steps = c.make_variable<std::int64_t>({.name = "steps"}, {});
  auto const number = c.restore(checkpoints);
  std::printf(number ? "from a checkpoint\n" : "from the beginning\n");
  auto saved = c.checkpoints(checkpoints, std::chrono::milliseconds(200), {.keep = 2});
  for (unsigned seed = 0; steps.read().fetch().data.at(0) < steps_wanted;) {
    std::vector<muster::remote_value<void>> running;
    for (int n = 0; n < 9; ++n)
      running.push_back(c.with({.task_job = "worker"}).submit<void>("train", model, steps, seed++));
    for (auto const& one : running) one.fetch();
    std::printf("step %lld: accuracy %.3f\n",
                static_cast<long long>(steps.read().fetch().data.at(0)),
                accuracy(data, read(model)));
    std::fflush(stdout);
  }
  saved.stop();
  c.save(checkpoints, {.keep = 2});
}

int main(int argc, char** argv) try {
  std::string const role = argc > 1 ? argv[1] : "coordinator";
  std::string const server = argc > 2 ? argv[2] : "127.0.0.1:8476";
  auto const data = role == "ps" ? digits() : load(argc > 3 ? argv[3] : "digits.csv");
  while (role == "coordinator") try {
      coordinate(server, data, argc > 4 ? argv[4] : "checkpoints");
      return 0;
    } catch (muster::unavailable_error const& lost) {
      std::printf("once more: %s\n", lost.what());
    }
  muster::worker w({.server = server, .job = role});
  if (role == "worker")
    w.function("train", [&data](variables const& model, muster::variable<std::int64_t> const& steps,
                                unsigned seed) { train(data, model, steps, seed); });
  return w.run();
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
