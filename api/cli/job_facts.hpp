// SPDX-License-Identifier: BSD-3-Clause
// The part of `stoker info` about the running job: where its ranks are, their helpers, and how their memory is reached.
#pragma once

#include "api/cli/mpi_session.hpp"
#include "engine/settings/settings.hpp"

#include <nlohmann/json.hpp>

#include <span>

namespace stoker::cli {

// Collective over MPI_COMM_WORLD; creates an engine for the time of the call. Rank 0 gets "nodes", a list of them with
// their domains and ranks, which is empty on others; and "puts": by executor, what carries out puts of one-sided
// algorithms. Throws on all ranks when there can be no engine.
[[nodiscard]] nlohmann::ordered_json gather_job(const MpiSession& session,
                                                std::span<const engine::SettingText> call_settings);

} // namespace stoker::cli
