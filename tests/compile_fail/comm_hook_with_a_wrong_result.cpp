// expect: register_comm_hook: a hook returns a Future<AnyTensor>, that of a tensor like the buffer of the bucket
#include <xgrad/distributed.hpp>

namespace dist = xgrad::distributed;

int main() {
    dist::Environment const mpi;
    dist::ProcessGroup const group;
    dist::DistributedDataParallel net(xgrad::nn::Linear<double>(2, 1), group);
#ifdef MISTAKE
    net.register_comm_hook(
        group, [](dist::ProcessGroup&, dist::GradBucket& bucket) { return bucket.buffer(); });
#else
    net.register_comm_hook(group, [](dist::ProcessGroup&, dist::GradBucket& bucket) {
        return dist::Future<xgrad::AnyTensor>::of(bucket.buffer());
    });
#endif
}
