// expect: register_comm_hook: a hook takes the state and the bucket: Future<AnyTensor> hook\(State&, GradBucket&\)
#include <xgrad/distributed.hpp>

namespace dist = xgrad::distributed;

int main() {
    dist::Environment const mpi;
    dist::ProcessGroup const group;
    dist::DistributedDataParallel net(xgrad::nn::Linear<double>(2, 1), group);
#ifdef MISTAKE
    net.register_comm_hook(group, [](dist::GradBucket& bucket) {
        return dist::Future<xgrad::AnyTensor>::of(bucket.buffer());
    });
#else
    net.register_comm_hook(group, [](dist::ProcessGroup&, dist::GradBucket& bucket) {
        return dist::Future<xgrad::AnyTensor>::of(bucket.buffer());
    });
#endif
}
