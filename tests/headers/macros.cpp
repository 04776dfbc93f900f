// Only compiled: macros of other headers, which a program includes first, change nothing, and are
// there again behind our headers.
#include <complex.h> // I

#define B1 1 // Arduino: binary constants, registers, and functions as macros
#define F(text) (text)
#define R 4
#define C 5
#define abs(x) ((x) > 0 ? (x) : -(x))
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x)-0.5))
#define min(a, b) ((a) < (b) ? (a) : (b)) // windows.h
#define max(a, b) ((a) > (b) ? (a) : (b))
#define small char
#define near
#define far
#define interface struct
#define None 0L // X11
#define Bool int
#define Status int
#define Success 0

#include <xgrad/data.hpp>
#include <xgrad/implicit.hpp>
#include <xgrad/least_squares.hpp>
#include <xgrad/linalg.hpp>
#include <xgrad/manifold.hpp>
#include <xgrad/map.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/package.hpp>
#include <xgrad/sparse.hpp>
#include <xgrad/sum_over.hpp>
#include <xgrad/testing/gradcheck.hpp>
#include <xgrad/vmap.hpp>
#include <xgrad/xgrad.hpp>

static_assert(B1 == 1 && R == 4 && C == 5 && min(1, 2) == 1 && max(1, 2) == 2 && abs(-1) == 1);
static_assert(None == 0 && Success == 0 && sizeof(small) == 1 && round(1.6) == 2);

int main() {
    xgrad::Tensor<double> const x({1., 2.}, xgrad::requires_grad);
    sum(x * sin(x)).backward();
    Bool const status = x.grad().numel() == 2;
    return status ? Success : 1;
}
