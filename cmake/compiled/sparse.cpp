#define XGRAD_IMPLEMENTATION
#include <xgrad/sparse.hpp>
