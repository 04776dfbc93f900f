// Data parallel: ranks of MPI that train one model together. The only header that needs MPI; not
// part of xgrad.hpp.
#pragma once

#include <xgrad/distributed/process_group.hpp>
#include <xgrad/xgrad.hpp>
