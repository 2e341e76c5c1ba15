// SPDX-License-Identifier: BSD-3-Clause
// MPI calls of the helper that fail: an error at wait and flush on the unit whose transfer it was, and no hang.
#include "tests/api/global_support.hpp"
#include "tests/api/refused_calls.hpp"

namespace api_tests {
namespace {

TEST(GlobalWireErrors, AreReportedByWaitAndFlush) {
  const GlobalOwner global(Settings{{"ranks_per_node", "1"}});
  const stoker_gptr segment = global.allocate(100000);
  const int right = (world_rank() + 1) % world_size();
  std::vector<char> local(100000);
  std::int64_t word = 0;
  EXPECT_TRUE(ok(stoker_put(global.get(), at(segment, right), local.data(), local.size())));
  EXPECT_TRUE(ok(stoker_get(global.get(), &word, at(segment, right), 8)));
  barrier();
  if (world_rank() == 0) {
    sends_fail = true;
    const std::vector<std::string> words{"rank 0", "unit 1", "messages between the nodes"};
    stoker_transfer transfer = STOKER_TRANSFER_NULL;
    EXPECT_TRUE(ok(stoker_get_nb(global.get(), local.data(), at(segment, right), local.size(), &transfer)));
    EXPECT_TRUE(refused(stoker_transfer_wait(&transfer), STOKER_ERR_MPI, words));
    EXPECT_EQ(transfer, STOKER_TRANSFER_NULL);
    sends_fail = false;
    // From now on nothing is certain.
    EXPECT_TRUE(refused(stoker_put(global.get(), at(segment, right), &word, 8), STOKER_ERR_MPI, words));
    EXPECT_TRUE(refused(stoker_fetch_and_op(global.get(), at(segment, right), MPI_INT64_T, MPI_SUM, &word, &word),
                        STOKER_ERR_MPI, words));
    EXPECT_TRUE(ok(stoker_put_nb(global.get(), at(segment, right), &word, 8, nullptr)));
    EXPECT_TRUE(refused(stoker_flush(global.get(), right), STOKER_ERR_MPI, words));
    EXPECT_TRUE(ok(stoker_flush_all(global.get()))); // reported once
    EXPECT_TRUE(ok(stoker_put(global.get(), at(segment, 0), &word, 8)));
  }
  barrier();
  // Freed all the same.
}

} // namespace
} // namespace api_tests
