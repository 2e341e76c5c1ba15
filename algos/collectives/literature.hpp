// SPDX-License-Identifier: BSD-3-Clause
// Where the algorithms come from.
#pragma once

#include <string_view>

namespace stoker::algos::literature {

inline constexpr std::string_view kinkead = "Kinkead et al., Scaling All-to-all Operations Across Emerging Many-Core "
                                            "Supercomputers, 2025";
inline constexpr std::string_view fan = "Fan et al., Configurable Algorithms for All-to-All Collectives, 2024";
inline constexpr std::string_view namugwanya = "Namugwanya et al., Collective-optimized FFTs, 2023";
inline constexpr std::string_view namugwanya_rma =
    "Namugwanya, Analyzing Persistent Alltoallv RMA Implementations for High-Performance MPI Communication, 2026";
inline constexpr std::string_view mpi = "MPI: A Message-Passing Interface Standard, version 4.1, section 8.6";
inline constexpr std::string_view collom = "Collom, Li and Bienz, Optimizing irregular communication with neighborhood "
                                           "collectives and locality-aware parallelism, 2023";
inline constexpr std::string_view bruck =
    "Bruck et al., Efficient algorithms for all-to-all communications in multiport "
    "message-passing systems, 1997";
inline constexpr std::string_view jocksch = "Jocksch et al., Flexible allreduce for shared memory and networks, 2025";
inline constexpr std::string_view bruck_ho =
    "Bruck and Ho, Efficient global combine operations in multi-port message-passing systems, 1993";
inline constexpr std::string_view rabenseifner =
    "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005";
inline constexpr std::string_view traff =
    "Traff and Hunold, Decomposing MPI collectives for exploiting multi-lane communication, 2020";
inline constexpr std::string_view bienz_allgather = "Bienz, Gautam and Kharel, A Locality-Aware Bruck Allgather, 2022";
inline constexpr std::string_view bienz_allreduce =
    "Bienz, Olson and Gropp, Node-Aware Improvements to Allreduce, 2019";
inline constexpr std::string_view worringen =
    "Worringen, Pipelining and overlapping for MPI collective operations, 2003";
inline constexpr std::string_view patarasuk =
    "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009";
inline constexpr std::string_view chen = "Chen, Zhang, Zhang and Yuan, Performance evaluation of allgather algorithms "
                                         "on terascale Linux cluster with fast Ethernet, 2005";
inline constexpr std::string_view sanders =
    "Sanders, Speck and Traff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009";
inline constexpr std::string_view bine =
    "De Sensi et al., Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality, 2025";
inline constexpr std::string_view swing =
    "De Sensi et al., Swing: Short-cutting Rings for Higher Bandwidth Allreduce, 2024";
inline constexpr std::string_view hensgen =
    "Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, 1988";
inline constexpr std::string_view hillis = "Hillis and Steele, Data parallel algorithms, 1986";

} // namespace stoker::algos::literature
