// An array with its optimizer slots, and the methods that change it. For stored_variable.cpp.
#pragma once

#include <map>
#include <memory>

#include "client/variables/array_rules.hpp"
#include "client/variables/stored_variable.hpp"

namespace muster::detail {

using arguments = std::vector<array_view>;

inline constexpr std::string_view steps_slot = "step";

class variable_base {
 public:
  virtual ~variable_base() = default;

  virtual std::string read() const = 0;
  virtual std::string read_rows(arguments const& a) const = 0;
  virtual std::string info() const = 0;
  virtual void assign(arguments const& a) = 0;
  virtual void add(arguments const& a, bool negative) = 0;
  virtual void assign_rows(arguments const& a) = 0;
  virtual std::string gather(arguments const& a) const = 0;
  enum class scatter { add, subtract, update };
  virtual void change_rows(arguments const& a, scatter how) = 0;
  virtual void sgd(arguments const& a) = 0;
  virtual void sgd_rows(arguments const& a) = 0;
  virtual void adam(arguments const& a, bool of_rows) = 0;
  virtual std::string save() const = 0;
  virtual void load(arguments const& a) = 0;
  virtual std::uint64_t begin_cut() = 0;
  virtual std::string cut_rows(arguments const& a) const = 0;
  virtual void end_cut(arguments const& a) = 0;
  virtual void load_rows(arguments const& a) = 0;
};

/// A slot whose shape or dtype differs from the variable.
struct other_slot {
  std::string dtype;
  detail::shape shape;
  std::string data;

  array_view view() const { return {dtype, shape, data}; }
};

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {  // wraps around, like numpy
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <class T>
T difference(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  } else {
    return a - b;
  }
}

template <class T>
class stored final : public variable_base, array_rules<T> {
 public:
  static constexpr bool steps = std::is_floating_point_v<T>;

  stored(std::string dtype, detail::shape of, T fill)
      : array_rules<T>(std::move(dtype), std::move(of)) {
    now_.array.assign(count_of(shape_), fill);
  }
  explicit stored(array_view const& from) : stored(std::string(from.dtype), from.shape, T{}) {
    if (!from.data.empty()) std::memcpy(now_.array.data(), from.data.data(), from.data.size());
  }

  std::string read() const override { return encode(std::vector{view(now_.array, shape_)}); }
  std::string read_rows(arguments const& a) const override {
    auto const [begin, end] = range(a.at(0), a.at(1));
    return encode(std::vector{rows_of(now_.array, begin, end)});
  }
  std::string info() const override {
    std::vector<std::int64_t> const sizes(shape_.begin(), shape_.end());
    return encode(std::vector{view_of(std::span(sizes), {sizes.size()}), text_view(dtype_),
                              scalar_view(now_.version)});
  }
  void assign(arguments const& a) override {
    auto const with = whole(a.at(0), false);
    each(0, now_.array.size(), with, [](T& own, T n) { own = n; });
    ++now_.version;
  }
  void add(arguments const& a, bool negative) override {
    auto const with = whole(a.at(0));
    if (negative)
      each(0, now_.array.size(), with, [](T& own, T n) { own = difference(own, n); });
    else
      each(0, now_.array.size(), with, [](T& own, T n) { own = sum(own, n); });
    ++now_.version;
  }
  void assign_rows(arguments const& a) override {
    auto const begin = integer("begin", a.at(0));
    auto const [low, high] = checked(begin, begin + rows_in(a.at(1)));
    auto const with = rows(a.at(1), high - low, false);
    each(low * row_, (high - low) * row_, with, [](T& own, T n) { own = n; });
    ++now_.version;
  }

  std::string gather(arguments const& a) const override {
    auto const chosen = indices(a.at(0));
    if (chosen.size() * row_ > result_bytes_max / sizeof(T))
      value_error("gather: " + std::to_string(chosen.size()) + " rows of " + std::to_string(row_) +
                  " numbers exceed the limit of " + std::to_string(result_bytes_max) + " bytes");
    std::vector<T> found;
    found.reserve(chosen.size() * row_);
    for (auto const i : chosen)
      found.insert(found.end(), now_.array.begin() + at(i * row_),
                   now_.array.begin() + at((i + 1) * row_));
    return encode(std::vector{view(found, of_rows(chosen.size()))});
  }
  void change_rows(arguments const& a, scatter how) override {
    auto const chosen = indices(a.at(0));
    auto const with = rows(a.at(1), chosen.size(), how != scatter::update);
    for (std::size_t k = 0; k < chosen.size(); ++k)
      for (std::size_t j = 0; j < row_; ++j) {
        auto& own = now_.array[chosen[k] * row_ + j];
        auto const n = with.at(k * row_ + j);
        own = how == scatter::add ? sum(own, n) : how == scatter::subtract ? difference(own, n) : n;
      }
    ++now_.version;
  }

  void sgd(arguments const& a) override {
    if constexpr (steps) {
      auto const g = whole(a.at(0));
      auto const rate = static_cast<T>(number("learning_rate", a.at(1)));
      if (a.size() > 2 && a[2].dtype != "none") {
        auto const decay = static_cast<T>(number("momentum", a[2]));
        auto& slot = moment("momentum");
        for (std::size_t i = 0; i < slot.size(); ++i) {
          slot[i] = slot[i] * decay + g.at(i);
          now_.array[i] -= rate * slot[i];
        }
      } else {
        each(0, now_.array.size(), g, [rate](T& own, T n) { own -= rate * n; });
      }
      ++now_.version;
    } else {
      refuse_steps();
    }
  }
  void sgd_rows(arguments const& a) override {
    if constexpr (steps) {
      auto const s = summed(a.at(0), a.at(1));
      auto const rate = static_cast<T>(number("learning_rate", a.at(2)));
      for (std::size_t k = 0; k < s.places.size(); ++k)
        for (std::size_t j = 0; j < row_; ++j)
          now_.array[s.places[k] * row_ + j] -= rate * s.rows[k * row_ + j];
      ++now_.version;
    } else {
      refuse_steps();
    }
  }
  void adam(arguments const& a, bool of_rows) override {
    if constexpr (steps) {
      std::size_t const more = of_rows ? 2 : 1;
      auto const rate = number("learning_rate", a.at(more));
      auto const b1 = number("beta1", a.at(more + 1)), b2 = number("beta2", a.at(more + 2));
      auto const epsilon = number("epsilon", a.at(more + 3));
      if (!(0 <= b1 && b1 < 1 && 0 <= b2 && b2 < 1))
        value_error("beta1: " + shown(b1) + ", beta2: " + shown(b2) +
                    "; both must be at least 0 and less than 1");
      if (of_rows) {
        auto const s = summed(a.at(0), a.at(1));
        adam_step const step(*this, rate, b1, b2, epsilon);
        for (std::size_t k = 0; k < s.places.size(); ++k)
          for (std::size_t j = 0; j < row_; ++j) step(s.places[k] * row_ + j, s.rows[k * row_ + j]);
      } else {
        auto const g = whole(a.at(0));
        adam_step const step(*this, rate, b1, b2, epsilon);
        for (std::size_t i = 0; i < now_.array.size(); ++i) step(i, g.at(i));
      }
      ++now_.version;
    } else {
      refuse_steps();
    }
  }

  std::string save() const override { return saved(now_, 0, shape_.empty() ? 1 : shape_[0]); }
  void load(arguments const& a) override {
    auto const slots = given_slots(a, 1);
    auto const with = whole(a.at(0), false, false);
    each(0, now_.array.size(), with, [](T& own, T n) { own = n; });
    now_.moments.clear();
    now_.others.clear();
    for (auto const& [name, slot] : slots) set_slot(name, slot, 0, now_.array.size(), shape_);
    now_.version = integer("version", a.back());
  }
  std::uint64_t begin_cut() override {
    while (cuts_.size() >= cuts_max) cuts_.erase(cuts_.begin());
    cuts_.emplace(++last_cut_, now_);
    return last_cut_;
  }
  std::string cut_rows(arguments const& a) const override {
    auto const n = integer("number", a.at(0));
    auto const it = cuts_.find(static_cast<std::uint64_t>(n));
    if (it == cuts_.end())
      value_error("snapshot " + std::to_string(n) + " of this variable no longer exists");
    auto const [begin, end] = range(a.at(1), a.at(2));
    return saved(it->second, begin, end);
  }
  void end_cut(arguments const& a) override {
    cuts_.erase(static_cast<std::uint64_t>(integer("number", a.at(0))));
  }
  void load_rows(arguments const& a) override {
    auto const begin = integer("begin", a.at(0));
    auto const [low, high] = checked(begin, begin + rows_in(a.at(1)));
    auto const slots = given_slots(a, 2);
    auto const with = rows(a.at(1), high - low, false);
    if (low == 0) {
      now_.moments.clear();
      now_.others.clear();
    }
    for (auto const& [name, slot] : slots)
      set_slot(name, slot, low * row_, (high - low) * row_, a.at(1).shape);
    each(low * row_, (high - low) * row_, with, [](T& own, T n) { own = n; });
    now_.version = integer("version", a.back());
  }

 private:
  using rules = array_rules<T>;
  using rules::checked, rules::dtype_, rules::indices, rules::of_rows, rules::range, rules::row_,
      rules::rows, rules::rows_in, rules::shape_, rules::summed, rules::whole;

  struct state {
    std::vector<T> array;
    /// Slot variables with the array's shape.
    std::map<std::string, std::vector<T>, std::less<>> moments;
    std::map<std::string, other_slot, std::less<>> others;
    std::int64_t version = 0;
  };

  static std::ptrdiff_t at(std::uint64_t i) { return static_cast<std::ptrdiff_t>(i); }
  array_view view(std::vector<T> const& all, detail::shape of) const {
    return {dtype_, std::move(of), bytes_of(std::span(all))};
  }
  array_view rows_of(std::vector<T> const& all, std::uint64_t begin, std::uint64_t end) const {
    return {dtype_, of_rows(end - begin),
            bytes_of(std::span(all).subspan(begin * row_, (end - begin) * row_))};
  }

  template <class F>
  void each(std::uint64_t from, std::uint64_t count, operand<T> const& with, F f) {
    auto* own = now_.array.data() + from;
    if (with.single)
      for (std::uint64_t i = 0; i < count; ++i) f(own[i], with.one);
    else
      for (std::uint64_t i = 0; i < count; ++i) f(own[i], detail::load<T>(with.data, i));
  }

  [[noreturn]] void refuse_steps() const {
    type_error("variables of dtype " + dtype_ +
               " cannot be updated by optimizers: their steps would be truncated");
  }
  std::vector<T>& moment(std::string const& name) {
    if (now_.others.contains(name))
      value_error("slot " + name + ": its shape or dtype differs from the variable's");
    auto& m = now_.moments[name];
    m.resize(now_.array.size());
    return m;
  }
  std::int64_t count_step() {
    auto& slot = now_.others[std::string(steps_slot)];
    auto const n = slot.data.empty() ? 1 : integer("step", slot.view()) + 1;
    slot = {"int64", {}, std::string(bytes_of(std::span<std::int64_t const>(&n, 1)))};
    return n;
  }
  class adam_step {
   public:
    adam_step(stored& of, double rate, double b1, double b2, double epsilon)
        : m_(of.moment("m")), v_(of.moment("v")), array_(of.now_.array) {
      auto const n = static_cast<double>(of.count_step());
      // A factor of the bias correction, which the paper applies inside the square root of v.
      double const root = std::sqrt(1 - std::pow(b2, n));
      rate_ = static_cast<T>(rate * root / (1 - std::pow(b1, n)));
      epsilon_ = static_cast<T>(epsilon * root);
      b1_ = static_cast<T>(b1), more1_ = static_cast<T>(1 - b1);
      b2_ = static_cast<T>(b2), more2_ = static_cast<T>(1 - b2);
    }
    void operator()(std::size_t i, T g) const {
      m_[i] = b1_ * m_[i] + more1_ * g;
      v_[i] = b2_ * v_[i] + more2_ * (g * g);
      array_[i] -= rate_ * m_[i] / (std::sqrt(v_[i]) + epsilon_);
    }

   private:
    std::vector<T>&m_, &v_, &array_;
    T rate_{}, epsilon_{}, b1_{}, more1_{}, b2_{}, more2_{};
  };

  std::string saved(state const& of, std::uint64_t begin, std::uint64_t end) const {
    std::map<std::string_view, array_view> slots;
    for (auto const& [name, m] : of.moments) slots.emplace(name, rows_of(m, begin, end));
    for (auto const& [name, o] : of.others) slots.emplace(name, o.view());
    std::vector<array_view> all{rows_of(of.array, begin, end)};
    for (auto const& [name, slot] : slots) {
      all.push_back(text_view(name));
      all.push_back(slot);
    }
    all.push_back(scalar_view(of.version));
    return encode(all);
  }
  using slots = std::map<std::string, array_view>;
  static slots given_slots(arguments const& a, std::size_t from) {
    slots made;
    bool good = a.size() > from && (a.size() - from) % 2 == 1 && a.back().dtype != "utf8";
    for (auto i = from; good && i + 2 < a.size(); i += 2) {
      good = a[i].dtype == "utf8";
      made[std::string(a[i].data)] = a[i + 1];
    }
    if (!good)
      type_error(
          "a variable must be loaded from an array, alternating names and slots, and its version");
    return made;
  }
  void set_slot(std::string const& name, array_view const& slot, std::uint64_t from,
                std::uint64_t count, detail::shape const& of) {
    if (slot.dtype != dtype_ || slot.shape != of || slot.shape.empty() != shape_.empty() ||
        name == steps_slot) {
      now_.moments.erase(name);
      now_.others[name] = {std::string(slot.dtype), slot.shape, std::string(slot.data)};
      return;
    }
    now_.others.erase(name);
    auto& m = now_.moments[name];
    m.resize(now_.array.size());
    if (count > 0) std::memcpy(m.data() + from, slot.data.data(), slot.data.size());
  }

  state now_;
  std::map<std::uint64_t, state> cuts_;
  std::uint64_t last_cut_ = 0;
};

}  // namespace muster::detail
