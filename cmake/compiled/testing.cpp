#define XGRAD_IMPLEMENTATION
#include <xgrad/testing/gradcheck.hpp>
#include <xgrad/testing/to_dot.hpp>
