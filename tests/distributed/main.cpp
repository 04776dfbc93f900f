// The main function of these tests. Every rank runs all of them. Some make groups fail on purpose,
// after which an Environment would not end MPI; here all ranks are still alive, so this does.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include <xgrad/distributed.hpp>

int main(int argc, char** argv) {
    int provided = 0; // group.hpp: at MPI_THREAD_MULTIPLE groups have a thread
    MPI_Init_thread(&argc, &argv,
        std::getenv("XGRAD_TEST_PROGRESS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED,
        &provided);
    doctest::Context context(argc, argv);
    int const result = context.run();
    MPI_Finalize();
    return result;
}
