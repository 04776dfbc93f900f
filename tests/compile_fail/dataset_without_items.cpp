// expect: a dataset has a const function get\(i\) or operator\[\]\(i\)
#include <xgrad/data.hpp>

struct Numbers {
    std::size_t size() const { return 3; }
#ifdef MISTAKE
    double get(std::size_t i) { return double(i); } // not const
#else
    double get(std::size_t i) const { return double(i); }
#endif
};

int main() {
    xgrad::data::DataLoader loader(Numbers{});
    for (auto const& batch : loader) static_cast<void>(batch);
}
