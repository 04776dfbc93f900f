#define XGRAD_IMPLEMENTATION
#include <xgrad/implicit.hpp>
