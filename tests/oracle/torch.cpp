// Programs run by libtorch. Where version 1.13 gives wrong numbers, or shares memory where xgrad
// does not, the same is computed in another way:
//
//     dot of complex vectors     Debian's build takes the result of BLAS's zdotu from the wrong
//     place
//                                and gets zeros: a sum of products
//     conj, real, imag           are views of their argument in PyTorch, copies in xgrad: clones
#include <torch/torch.h>

#include "program.hpp"

namespace oracle {

namespace {

using torch::Tensor;
using torch::indexing::Slice;

class Interpreter {
public:
    explicit Interpreter(Program const& p) : p_(p) {}

    Outcome run() {
        Outcome result;
        try {
            for (std::size_t r = 0; r < p_.leaves.size(); ++r)
                registers_.push_back(
                    filled(p_.leaves[r].shape, p_.leaves[r].is_complex, r, 0).requires_grad_());
            std::vector<Tensor> const leaves = registers_;
            for (auto const& i : p_.code) registers_.push_back(apply(i));
            for (auto const r : p_.outputs) result.values.push_back(numbers_of(registers_[r]));
            auto const first = gradients(weighted(outputs(), 1), leaves, true);
            for (auto const& g : first) result.first.push_back(numbers_of(g));
            Tensor const again = weighted(first, 2);
            for (auto const& g : gradients(again, leaves, false))
                result.second.push_back(numbers_of(g));
        } catch (c10::Error const& e) { result.error = e.what_without_backtrace(); }
        return result;
    }

private:
    Tensor filled(Extents const& shape, bool is_complex, std::size_t index, int purpose) const {
        std::size_t count = 1;
        for (auto const n : shape) count *= static_cast<std::size_t>(n);
        auto numbers = numbers_for(p_, index, count, purpose);
        Tensor const all = torch::from_blob(numbers.data(), shape, torch::kComplexDouble).clone();
        return is_complex ? all : torch::real(all).clone();
    }
    std::vector<Tensor> outputs() const {
        std::vector<Tensor> all;
        for (auto const r : p_.outputs) all.push_back(registers_[r]);
        return all;
    }
    Tensor weighted(std::vector<Tensor> const& all, int purpose) const {
        Tensor total = torch::zeros({}, torch::kDouble);
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const product =
                (filled(all[i].sizes().vec(), all[i].is_complex(), i, purpose) * all[i]).sum();
            total = total + (product.is_complex() ? torch::real(product) : product);
        }
        return total;
    }
    static std::vector<Tensor> gradients(
        Tensor const& loss, std::vector<Tensor> const& leaves, bool create_graph) {
        std::vector<Tensor> all(leaves.size());
        if (loss.requires_grad())
            all = torch::autograd::grad({loss}, leaves, {}, create_graph, create_graph, true);
        for (std::size_t i = 0; i < leaves.size(); ++i)
            if (!all[i].defined()) all[i] = torch::zeros_like(leaves[i]);
        return all;
    }
    static std::vector<Number> numbers_of(Tensor const& t) {
        auto const all = t.detach().to(torch::kComplexDouble).resolve_conj().contiguous();
        auto const* const data = static_cast<Number const*>(all.data_ptr());
        return {data, data + all.numel()};
    }

    Tensor apply(Instruction const& i) const {
        Tensor const a = registers_[i.of[0]], b = registers_[i.of.back()];
        auto const& n = i.numbers;
        switch (i.op) {
        case Op::sine:
            return a.sin();
        case Op::tangent_h:
            return a.tanh();
        case Op::exponential:
            return a.exp();
        case Op::square:
            return a * a;
        case Op::negative:
            return -a;
        case Op::logistic:
            return a.sigmoid();
        case Op::absolute:
            return a.abs();
        case Op::relu:
            return a.relu();
        case Op::softplus:
            return torch::softplus(a);
        case Op::conjugate:
            return a.is_complex() ? torch::conj_physical(a) : a.clone();
        case Op::real_part:
            return torch::real(a).clone();
        case Op::imaginary_part:
            return torch::imag(a).clone();
        case Op::squared_modulus:
            return a.is_complex() ? torch::view_as_real(a).square().sum(-1) : a.square();
        case Op::from_real:
            return a.to(torch::kComplexDouble);
        case Op::scaled:
            return a * i.factor;
        case Op::add:
            return a + b;
        case Op::subtract:
            return a - b;
        case Op::multiply:
            return a * b;
        case Op::divide:
            return a / (2 + b * b);
        case Op::maximum:
            return torch::maximum(a, b);
        case Op::select_larger:
            return torch::where(a > b, a, b * 0.5);
        case Op::make_complex: {
            auto const both = torch::broadcast_tensors({a, b});
            return torch::complex(both[0], both[1]);
        }
        case Op::sum:
            return a.sum(n[0], n[1]);
        case Op::mean:
            return a.mean(n[0], n[1]);
        case Op::largest:
            return a.amax(n[0], n[1]);
        case Op::product:
            return a.prod(n[0], n[1]);
        case Op::log_sum_exp:
            return a.logsumexp(n[0], n[1]);
        case Op::variance:
            return a.var(n[0], true, n[1]);
        case Op::cumulative_sum:
            return a.cumsum(n[0]);
        case Op::cumulative_product:
            return a.cumprod(n[0]);
        case Op::sorted:
            return std::get<0>(a.sort(true, n[0], false));
        case Op::transposed:
            return a.transpose(n[0], n[1]);
        case Op::slice:
            return a.slice(n[0], n[1], n[2], n[3]);
        case Op::element:
            return a.select(n[0], n[1]);
        case Op::row_added:
            return a.unsqueeze(n[0]);
        case Op::row_removed:
            return a.squeeze(n[0]);
        case Op::diagonal:
            return a.diagonal();
        case Op::reshaped:
            return a.reshape(i.type.shape);
        case Op::expanded:
            return a.expand(i.type.shape);
        case Op::parts_of_complex:
            return torch::view_as_real(a);
        case Op::flipped:
            return a.flip(n[0]);
        case Op::rolled:
            return a.roll(n[0], n[1]);
        case Op::lower_triangle:
            return a.tril(n[0]);
        case Op::joined:
            return torch::cat({a, b}, n[0]);
        case Op::stacked:
            return torch::stack({a, b}, n[0]);
        case Op::picked:
            return a.index_select(n[0], torch::tensor({n[1], n[2], n[3]}));
        case Op::padded:
            return torch::constant_pad_nd(a, {1, 2}, 0);
        case Op::matrix_product:
            return a.mm(b);
        case Op::dot:
            return (a * b).sum();
        case Op::cloned:
            return a.clone();
        case Op::add_in_place:
            return Tensor(a).add_(b);
        case Op::multiply_in_place:
            return Tensor(a).mul_(b);
        case Op::sine_in_place:
            return Tensor(a).sin_();
        case Op::copy_in_place:
            return Tensor(a).copy_(b);
        case Op::fill_in_place:
            return Tensor(a).fill_(i.factor);
        }
        return {};
    }

    Program const& p_;
    std::vector<Tensor> registers_;
};

} // namespace

Outcome run_by_torch(Program const& p) { return Interpreter(p).run(); }

} // namespace oracle
