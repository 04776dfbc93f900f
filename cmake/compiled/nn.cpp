#define XGRAD_IMPLEMENTATION
#include <xgrad/nn.hpp>
