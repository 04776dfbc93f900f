// The group of the tests. Where the program was started with XGRAD_TEST_PROGRESS=1 (main.cpp), it
// has a thread.
#pragma once

#include <xgrad/distributed.hpp>

namespace models {

namespace dist = xgrad::distributed;

inline bool has_thread_level() {
    int level = 0;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}
inline dist::ProcessGroup group_of_test() {
    return dist::ProcessGroup(MPI_COMM_WORLD,
        {.timeout = std::chrono::seconds(30),
            .progress_interval = std::chrono::microseconds(has_thread_level() ? 100 : 0)});
}

} // namespace models
