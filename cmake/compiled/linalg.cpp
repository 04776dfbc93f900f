#define XGRAD_IMPLEMENTATION
#include <xgrad/linalg.hpp>
