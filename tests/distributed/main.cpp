// The main function of these tests. Every rank runs all of them. Some make groups fail on purpose,
// after which an Environment would not end MPI; here all ranks are still alive, so this does.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <xgrad/distributed.hpp>

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    doctest::Context context(argc, argv);
    int const result = context.run();
    MPI_Finalize();
    return result;
}
