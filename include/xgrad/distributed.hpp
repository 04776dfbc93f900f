// Data parallel: ranks of MPI that train one model together. The only header that needs MPI; not
// part of xgrad.hpp.
#pragma once

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/nn.hpp>

#if !__has_include(<mpi.h>)
#    error "xgrad: distributed.hpp needs MPI: compile with mpicxx, or link MPI::MPI_CXX in CMake"
#else

#    include <xgrad_distributed/comm_hooks.hpp>
#    include <xgrad_distributed/data_parallel.hpp>
#    include <xgrad_distributed/environment.hpp>
#    include <xgrad_distributed/joinable.hpp>
#    include <xgrad_distributed/power_sgd.hpp>
#    include <xgrad_distributed/process_group.hpp>
#    include <xgrad_distributed/sampler.hpp>
#    include <xgrad_distributed/sync_batch_norm.hpp>

#endif

#include <xgrad/core/end_headers.inc> // last
