#include <xgrad/data.hpp>

int main(int, char** arguments) {
    char const* const file = arguments[1];
    xgrad::data::save_npz(file, {{"x", xgrad::Tensor<double>({1., 2.})}});
    xgrad::StateDict const loaded = xgrad::data::load_npz(file);
    return loaded.size() == 1 ? 0 : 1;
}
