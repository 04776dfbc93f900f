#define XGRAD_IMPLEMENTATION
#include <xgrad/data.hpp>
