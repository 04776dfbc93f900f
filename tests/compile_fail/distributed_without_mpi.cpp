// expect: distributed.hpp needs MPI: compile with mpicxx, or link MPI::MPI_CXX in CMake
// without MPI
#include <xgrad/xgrad.hpp>

#ifdef MISTAKE
#    include <xgrad/distributed.hpp>
#endif

int main() {}
