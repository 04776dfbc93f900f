# 64-bit ARM from another machine. qemu runs the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR env XGRAD_TEST_QEMU=1 qemu-aarch64 -L /usr/aarch64-linux-gnu)
