// expect: Child: what is inside a module must be a module itself, derived from nn::Module
#include <xgrad/distributed.hpp>

namespace dist = xgrad::distributed;

int main() {
    dist::Environment const mpi;
    dist::ProcessGroup const group;
#ifdef MISTAKE
    struct NoModule {};
    dist::DistributedDataParallel net(NoModule(), group);
#else
    dist::DistributedDataParallel net(xgrad::nn::Linear<double>(2, 1), group);
#endif
}
