// Half of a program: flags/other.cpp is compiled for another instruction set.
#include <xgrad/core/shape.hpp>

std::size_t other(xgrad::Shape const& shape);

int main() { return other({2, 3}) == xgrad::numel({2, 3}) ? 0 : 1; }
