// SPDX-License-Identifier: BSD-3-Clause
// The MPI library refuses a receive of a request: its Wait says so, and it can only be freed, because the message that
// nobody took would be taken for one of its next epoch.
#include "tests/api/mpi_main.hpp"
#include "tests/api/refused_calls.hpp"
#include "tests/api/support.hpp"

#include <gtest/gtest.h>

#include <array>

namespace api_tests {
namespace {

TEST(RefusedReceive, BreaksItsRequest) {
  const EngineOwner engine(MPI_COMM_WORLD, Settings{{"ranks_per_node", "1"}});
  const std::array<int, 2> send{world_rank(), world_rank() + 10};
  std::array<int, 2> recv{-1, -1};
  stoker_request request = STOKER_REQUEST_NULL;
  ASSERT_TRUE(ok(stoker_alltoall_init(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                                      engine.get(), &request)));
  ASSERT_TRUE(ok(stoker_start(request)));
  ASSERT_TRUE(ok(stoker_wait(request)));
  EXPECT_EQ(recv[static_cast<std::size_t>(1 - world_rank())], 1 - world_rank() + (world_rank() == 0 ? 0 : 10));
  barrier();
  receives_fail = world_rank() == 0;
  ASSERT_TRUE(ok(stoker_start(request)));
  if (world_rank() == 0) {
    EXPECT_TRUE(refused(stoker_wait(request), STOKER_ERR_MPI, {"rank 0", "message from rank 1"}));
    receives_fail = false;
    EXPECT_TRUE(refused(stoker_start(request), STOKER_ERR_STATE, {"rank 0", "broken"}));
    EXPECT_TRUE(refused(stoker_wait(request), STOKER_ERR_PEER_LOST, {"refused", "can only be freed"}));
  } else {
    EXPECT_TRUE(ok(stoker_wait(request)));
  }
  EXPECT_TRUE(ok(stoker_request_free(&request)));
  barrier();
}

} // namespace
} // namespace api_tests
