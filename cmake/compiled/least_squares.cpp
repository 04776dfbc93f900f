#define XGRAD_IMPLEMENTATION
#include <xgrad/least_squares.hpp>
