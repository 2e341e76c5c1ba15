// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/curves.hpp"

#include "api/cli/svg.hpp"
#include "api/cli/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace stoker::cli {
namespace {

constexpr double plot_left = 80;
constexpr double plot_top = 40;
constexpr double plot_width = 640; // of the part with the lines
constexpr double height = 440;
constexpr double row = 18; // of the legend

// Colours that also the colour-blind tell apart; their second and third round is dashed.
constexpr std::array<std::string_view, 8> curve_colours = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                                           "#66ccee", "#aa3377", "#000000", "#999999"};
constexpr std::array<std::string_view, 3> dashes = {"", "7 3", "2 3"};

// Powers of two to and fro.
double exponent(double value) { return std::log2(value); }

struct Axis {
  double least, most; // exponents
  [[nodiscard]] double share(double value) const { return (exponent(value) - least) / (most - least); }
};

void draw_point(Svg& svg, double x, double y, bool ringed, std::string_view colour) {
  if (ringed) {
    svg.circle(x, y, 6, colour);
    svg.circle(x, y, 4.5, "white");
  }
  svg.circle(x, y, 2.5, colour);
}

} // namespace

void check_drawable(const std::vector<std::uint64_t>& bytes) {
  if (bytes.size() < 2 || std::ranges::find(bytes, 0U) != bytes.end()) {
    throw std::invalid_argument("--plot: expected two sizes at least, and none of 0 bytes");
  }
}

void draw_curves(const std::string& title, const std::vector<std::uint64_t>& bytes, const std::vector<Curve>& curves,
                 const std::string& ring, const std::string& path) {
  double fastest = curves.front().seconds.front();
  double slowest = fastest;
  for (const Curve& curve : curves) {
    fastest = std::min(fastest, *std::ranges::min_element(curve.seconds));
    slowest = std::max(slowest, *std::ranges::max_element(curve.seconds));
  }
  fastest = std::max(fastest, 1e-9);
  const Axis x{exponent(static_cast<double>(*std::ranges::min_element(bytes))),
               exponent(static_cast<double>(*std::ranges::max_element(bytes)))};
  constexpr double ten = 3.3219280948873623; // 10 as a power of two
  const double first_power = std::floor(exponent(fastest) / ten);
  const double last_power = std::max(first_power + 1, std::ceil(exponent(slowest) / ten));
  const Axis y{first_power * ten, last_power * ten};
  const auto x_of = [&](std::uint64_t size) { return plot_left + (x.share(static_cast<double>(size)) * plot_width); };
  const auto y_of = [&](double seconds) { return plot_top + height - (y.share(std::max(seconds, 1e-9)) * height); };

  std::size_t longest = ring.size();
  for (const Curve& curve : curves) {
    longest = std::max(longest, curve.name.size());
  }
  const double legend = 60 + (7 * static_cast<double>(longest));
  Svg svg(plot_left + plot_width + legend,
          std::max(plot_top + height + 50, plot_top + (row * static_cast<double>(curves.size() + 1)) + 10));
  svg.text(plot_left, 20, title);
  for (const std::uint64_t size : bytes) {
    svg.line(x_of(size), plot_top, x_of(size), plot_top + height, "#e4e4e4");
    svg.text(x_of(size), plot_top + height + 18, bytes_text(size), "middle");
  }
  for (double power = first_power; power <= last_power; ++power) {
    const double seconds = std::pow(10, power);
    const TimeUnit unit = time_unit(seconds * 1.001);
    svg.line(plot_left, y_of(seconds), plot_left + plot_width, y_of(seconds), "#cccccc");
    svg.text(plot_left - 8, y_of(seconds) + 4, fmt::format("{:.3g} {}", seconds / unit.seconds, unit.name), "end");
  }
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::string_view colour = curve_colours[c % curve_colours.size()];
    const std::string_view dash = dashes[c / curve_colours.size() % dashes.size()];
    std::string points;
    for (std::size_t b = 0; b < bytes.size(); ++b) {
      points += fmt::format("{:.2f},{:.2f} ", x_of(bytes[b]), y_of(curves[c].seconds[b]));
      draw_point(svg, x_of(bytes[b]), y_of(curves[c].seconds[b]), curves[c].ringed[b], colour);
    }
    svg.curve(points, colour, dash);
    const double at = plot_top + 6 + (row * static_cast<double>(c));
    svg.curve(fmt::format("{},{} {},{}", plot_left + plot_width + 14, at, plot_left + plot_width + 40, at), colour,
              dash);
    svg.text(plot_left + plot_width + 46, at + 4, curves[c].name);
  }
  if (!ring.empty()) {
    const double at = plot_top + 6 + (row * static_cast<double>(curves.size()));
    draw_point(svg, plot_left + plot_width + 27, at, true, curve_colours[6]);
    svg.text(plot_left + plot_width + 46, at + 4, ring);
  }
  svg.write("--plot", path);
}

} // namespace stoker::cli
