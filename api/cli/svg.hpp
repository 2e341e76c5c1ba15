// SPDX-License-Identifier: BSD-3-Clause
// A drawing by hand: what the pictures of `stoker simulate` share.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stoker::cli {

class Svg {
public:
  Svg(double width, double height) : width_(width), height_(height) {}

  void rectangle(double x, double y, double width, double height, std::string_view colour,
                 const std::string& tool_tip = {}) {
    body_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"", x, y, width,
                         height, colour);
    body_ += tool_tip.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", escaped(tool_tip));
  }
  void line(double x1, double y1, double x2, double y2, std::string_view colour) {
    body_ += fmt::format("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"{}\"/>\n", x1, y1, x2,
                         y2, colour);
  }
  // `points` as SVG has them: "x,y x,y". `dashes` likewise; empty: none.
  void curve(const std::string& points, std::string_view colour, std::string_view dashes) {
    body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{}/>\n", points,
                         colour, dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes));
  }
  void circle(double x, double y, double radius, std::string_view colour) {
    body_ += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{}\" fill=\"{}\"/>\n", x, y, radius, colour);
  }
  // `anchor`: start, middle or end.
  void text(double x, double y, std::string_view text, std::string_view anchor = "start") {
    body_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
  }

  // Throws std::runtime_error that names the option and the file.
  void write(std::string_view option, const std::string& path) const {
    std::ofstream file(path);
    file << fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
                        width_, height_, body_);
    if (!file.flush()) {
      throw std::runtime_error(
          fmt::format("{} {}: {}", option, path, std::strerror(errno))); // NOLINT(concurrency-mt-unsafe)
    }
  }

private:
  static std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
      result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    }
    return result;
  }

  double width_;
  double height_;
  std::string body_;
};

} // namespace stoker::cli
