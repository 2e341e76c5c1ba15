// SPDX-License-Identifier: BSD-3-Clause
// A machine file on which nothing costs time but sending a message between nodes.
#pragma once

#include <string>

namespace api_tests {

inline std::string machine_with_network(const std::string& send_overhead_us) {
  const std::string nothing = "latency_us = 0\nreceive_overhead_us = 0\ngap_us = 0\nbandwidth_GB_per_s = inf\n";
  return "name = \"test\"\nsource = \"test\"\n"
         "[node]\nranks = 2\ndomains = 1\nsockets = 1\n"
         "[message]\neager_bytes = 1000000\nremote_reads = true\nmatch_us = 0\npost_us = 0\n"
         "unexpected_GB_per_s = inf\n"
         "[message.domain]\nsend_overhead_us = 0\n" +
         nothing + "[message.switch]\nsend_overhead_us = " + send_overhead_us + "\n" + nothing +
         "[memory]\ncopy_us = 0\ncopy_GB_per_s = inf\ncombine_GB_per_s = inf\npiece_us = 0\ndomain_GB_per_s = inf\n"
         "[helper]\nsubmit_us = 0\nnotice_us = 0\npoll_us = 0\nwake_up_us = 0\nnap_us = 0\n"
         "[network]\nkind = \"crossbar\"\nports = 1\nport_us = 0\nport_GB_per_s = inf\n";
}

} // namespace api_tests
