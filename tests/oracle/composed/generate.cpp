#include "generate.hpp"

#include <algorithm>
#include <set>

namespace composed {

namespace {

using Random = std::mt19937_64;

struct Refused {};

std::size_t below(Random& random, std::size_t n) { return n ? random() % n : 0; }
bool chance(Random& random, double p) { return static_cast<double>(random() >> 11) * 0x1p-53 < p; }

enum class Want { anything, number, type };

/// A function that grows: its values so far are known, so that what does not fit is dropped.
struct Scope {
    Function f = {};
    Values values = {};
    bool batched = false;     // it runs inside of vmap()
    bool of_solution = false; // it is the body of a solution
    int depth = 0;
    std::set<std::size_t> unused = {};
};

class Maker {
public:
    Maker(std::uint64_t seed, Catalogue const& all, Tallies& tallies, Settings const& settings)
        : random_(seed), all_(all), tallies_(tallies), settings_(settings) {
        for (auto const& each : all.all) groups_[each->group].push_back(each.get());
        for (auto const& [name, lines] : groups_)
            if (name.find("end of") == name.npos && name != "adapter" && name != "number" &&
                name != "transform" && name != "vmap" && name != "solution")
                drawn_.push_back(name);
    }

    Program make() {
        for (;;) {
            try {
                return attempt();
            } catch (Refused) {}
        }
    }

private:
    Program attempt() {
        Scope top;
        top.depth = settings_.depth;
        for (std::size_t i = 0, n = 1 + below(random_, 3); i < n; ++i)
            add_parameter(top, {chance(random_, 0.2), some_shape()});
        std::stable_partition(top.f.parameters.begin(), top.f.parameters.end(),
            [](Type const& t) { return !t.is_complex; });
        std::stable_partition(
            top.values.begin(), top.values.end(), [](Value const& v) { return !is_complex(v); });
        Values const inputs = top.values;
        for (std::size_t i = 0, n = 1 + below(random_, 4); i < n; ++i) grow(top);
        if (top.f.code.empty()) throw Refused();
        auto f = finished(top, Want::anything, {});
        return {std::make_shared<Function const>(std::move(f)), inputs, 0};
    }

    xg::Shape some_shape() {
        xg::Shape shape;
        for (std::size_t i = 0, n = below(random_, 10) * 3 / 10 + (chance(random_, 0.1) ? 1 : 0);
             i < n; ++i)
            shape.push_back(1 + below(random_, 3));
        return shape;
    }
    Value random_value(Type const& type) {
        auto v = zeros_of(type);
        auto const number = [&] {
            return static_cast<double>(random_() >> 11) * 0x1p-53 * 2.4 - 1.2;
        };
        for (std::size_t k = 0; k < xg::numel(type.shape); ++k) {
            if (auto* t = std::get_if<D>(&v)) t->mutable_data()[k] = number();
            else {
                double const re = number();
                std::get<Z>(v).mutable_data()[k] = {re, number()};
            }
        }
        return v;
    }
    void add_parameter(Scope& s, Type const& type) { add_parameter(s, random_value(type)); }
    void add_parameter(Scope& s, Value const& v) {
        s.unused.insert(s.values.size());
        s.f.parameters.push_back(type_of(v));
        s.values.push_back(v);
    }

    /// Adds a call, whose value is checked; throws Refused where there is none.
    std::size_t add(Scope& s, Instruction at) {
        auto& tally = tallies_[at.op];
        ++tally.drawn;
        Values operands;
        for (auto const r : at.operands) operands.push_back(s.values[r]);
        Value v;
        try {
            Budget const budget(settings_.work);
            Call const call{std::move(operands), at};
            v = at.op->alternative ? at.op->alternative(call) : at.op->call(call);
            if (at.op->is_regular && !at.op->is_regular(call))
                throw xg::Error("its equation is singular");
        } catch (xg::Error const& error) {
            tally.refused = error.what();
            throw Refused();
        } catch (TooDear) {
            tally.refused = "it takes too much work";
            throw Refused();
        }
        at.type = type_of(v);
        // Larger numbers that cancel leave rounding errors, as in 1 - square(tanh(9.)).
        bool const cancelled = largest(v) > 0 && largest(v) < 1e-5;
        if (xg::numel(at.type.shape) > 40 || xg::numel(at.type.shape) == 0 || cancelled ||
            !(largest(v) < 1e3)) {
            tally.refused = "its value is " + std::to_string(largest(v));
            throw Refused();
        }
        ++tally.used;
        for (auto const r : at.operands) s.unused.erase(r);
        s.f.code.push_back(std::move(at));
        s.values.push_back(std::visit([](auto const& t) -> Value { return t.detach(); }, v));
        auto const r = s.values.size() - 1;
        s.unused.insert(r);
        auto const& group = s.f.code.back().op->group;
        // What equations end with stays as it is: a plateau has a singular system.
        if (largest(v) > 4 && group != "adapter" && group.find("end of") == group.npos)
            return add(s, {all_.find(at_complex(s, r) ? "a / (1. + 0.2 * abs2(a))"
                                                      : "a / sqrt(1. + 0.25 * square(a))"),
                              {r}});
        return r;
    }
    bool at_complex(Scope const& s, std::size_t r) { return is_complex(s.values[r]); }

    std::size_t any_register(Scope const& s) {
        auto const n = s.values.size();
        if (!s.unused.empty() && chance(random_, 0.5)) {
            auto at = s.unused.begin();
            std::advance(at, static_cast<std::ptrdiff_t>(below(random_, s.unused.size())));
            return *at;
        }
        return chance(random_, 0.5) ? n - 1 - below(random_, std::min<std::size_t>(n, 3))
                                    : below(random_, n);
    }
    std::size_t with_kind(Scope& s, std::size_t r, bool complex) {
        if (at_complex(s, r) == complex) return r;
        return add(
            s, {all_.find(complex ? "xg::complex(a, 0.5 * a)" : "real(a) + 0.5 * imag(a)"), {r}});
    }
    std::size_t with_shape(Scope& s, std::size_t r, xg::Shape const& shape) {
        if (shape_of(s.values[r]) == shape) return r;
        Instruction at{all_.find("gather"), {r}};
        at.numbers.push_back(static_cast<std::int64_t>(below(random_, 3)));
        for (auto const n : shape) at.numbers.push_back(static_cast<std::int64_t>(n));
        return add(s, std::move(at));
    }
    std::size_t with_type(Scope& s, std::size_t r, Type const& type) {
        return with_shape(s, with_kind(s, r, type.is_complex), type.shape);
    }
    /// A register that fits a slot; `names` has the extents with names so far.
    std::size_t fitting(Scope& s, Slot const& slot, std::map<std::string, std::size_t>& names,
        std::optional<xg::Shape> const& first) {
        auto r = any_register(s);
        if (slot.kind != 'A') r = with_kind(s, r, slot.kind == 'C');
        auto const shape = shape_of(s.values[r]);
        if (slot.shape == "*") {
            if (first && !fits(shape, *first)) r = with_shape(s, r, part_of(*first));
        } else if (slot.shape == "+") {
            if (shape.empty()) r = with_shape(s, r, {1 + below(random_, 3)});
        } else if (slot.shape == "=") {
            r = with_shape(s, r, *first);
        } else {
            xg::Shape wanted;
            std::string extent;
            for (char const c : slot.shape + ",") {
                if (c != ',') extent += c;
                else if (!extent.empty() && extent != "-") {
                    if (std::isdigit(static_cast<unsigned char>(extent[0])))
                        wanted.push_back(static_cast<std::size_t>(std::stoul(extent)));
                    else {
                        auto const [at, added] = names.try_emplace(extent, 1 + below(random_, 3));
                        wanted.push_back(at->second);
                    }
                    extent.clear();
                } else extent.clear();
            }
            r = with_shape(s, r, wanted);
        }
        if (slot.domain != "any") {
            auto const* op = all_.find((at_complex(s, r) ? "complex " : "") + slot.domain);
            if (!op) throw std::logic_error("there is no domain " + slot.domain);
            r = add(s, {op, {r}});
        }
        return r;
    }
    static bool fits(xg::Shape const& a, xg::Shape const& b) {
        for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
            auto const p = a[a.size() - i], q = b[b.size() - i];
            if (p != q && p != 1 && q != 1) return false;
        }
        return true;
    }
    /// A shape that broadcasts to another one.
    xg::Shape part_of(xg::Shape shape) {
        if (!shape.empty() && chance(random_, 0.3)) shape.erase(0);
        for (auto& n : shape)
            if (chance(random_, 0.3)) n = 1;
        return shape;
    }

    /// Adds one operation with what it needs, or nothing.
    void grow(Scope& s) {
        for (int tries = 0; tries < 8; ++tries) {
            Scope const before = s;
            try {
                if (s.depth > 0 && s.of_solution && chance(random_, 0.2)) solution(s);
                else if (s.depth > 0 && chance(random_, 0.4)) {
                    auto const kind = below(random_, s.batched ? 2 : 8);
                    if (kind < 4) transform(s);
                    else if (kind < 6) solution(s);
                    else of_examples(s);
                } else line(s);
                return;
            } catch (Refused) { s = before; }
        }
    }
    Operation const* drawn(Scope const& s) {
        auto const& lines = groups_[drawn_[below(random_, drawn_.size())]];
        auto const* op = lines[below(random_, lines.size())];
        if (s.batched && !op->takes_batches) throw Refused();
        return op;
    }
    void line(Scope& s) {
        Instruction at{drawn(s)};
        std::map<std::string, std::size_t> names;
        std::optional<xg::Shape> first;
        for (auto const& slot : at.op->slots) {
            auto const r = fitting(s, slot, names, first);
            if (!first) first = shape_of(s.values[r]);
            at.operands.push_back(r);
        }
        add(s, std::move(at));
    }

    /// An inner function of these arguments; it may capture registers of s, which are appended to
    /// `captured`. `prepare` adds what it ends with.
    FunctionRef inner(Scope& s, Values const& arguments, Want want, Type const& type,
        std::vector<std::size_t>& captured, bool batched, std::string const& end = {}) {
        Scope t;
        t.depth = s.depth - 1;
        t.batched = s.batched || batched;
        t.of_solution = !end.empty();
        for (auto const& v : arguments) add_parameter(t, v);
        std::vector<std::size_t> from;
        if (!end.empty()) t.unused.erase(0); // x comes in at the end
        for (int i = 0; i < 2; ++i)
            if (chance(random_, 0.35)) {
                auto const r = any_register(s);
                from.push_back(r);
                t.f.captured.push_back(type_of(s.values[r]));
                t.unused.insert(t.values.size());
                t.values.push_back(s.values[r]);
            }
        auto const linear = end == "end of linear_solve";
        if (linear && t.values.size() < 2) throw Refused(); // nothing but the end sees x
        for (std::size_t i = 0, n = below(random_, end.empty() ? 4 : 3) + (end.empty() ? 1 : 0);
             i < n; ++i)
            grow(t);
        if (linear)
            for (auto const& at : t.f.code)
                if (std::count(at.operands.begin(), at.operands.end(), 0u)) throw Refused();
        if (!end.empty()) {
            std::size_t r = 0;
            for (int tries = 0; r == 0 && tries < 10; ++tries) r = any_register(t);
            if (r == 0 && t.values.size() > 1) r = t.values.size() - 1;
            if (linear && r == 0) throw Refused();
            r = with_type(t, r, t.f.parameters[0]);
            auto const& ends = groups_[(t.f.parameters[0].is_complex ? "complex " : "") + end];
            add(t, {ends[below(random_, ends.size())], {0, r}});
        }
        auto f = end.empty() ? finished(t, want, type) : pruned(t, t.values.size() - 1);
        for (auto const k : kept_captured_) captured.push_back(from[k]);
        return std::make_shared<Function const>(std::move(f));
    }
    /// One or two registers for arguments: real ones before complex ones.
    std::vector<std::size_t> arguments(Scope& s, bool real_only) {
        std::vector<std::size_t> all{any_register(s)};
        if (chance(random_, 0.5)) all.push_back(any_register(s));
        for (auto& r : all)
            if (real_only) r = with_kind(s, r, false);
        std::stable_partition(
            all.begin(), all.end(), [&](std::size_t r) { return !at_complex(s, r); });
        if (all.size() == 2 && at_complex(s, all[0])) all.pop_back();
        return all;
    }
    Values values_of(Scope const& s, std::vector<std::size_t> const& registers) {
        Values all;
        for (auto const r : registers) all.push_back(s.values[r]);
        return all;
    }
    void transform(Scope& s) {
        auto const& list = groups_["transform"];
        auto const* op = list[below(random_, list.size())];
        if (s.batched && !op->takes_batches) throw Refused();
        auto const& name = op->name;
        bool const number = name == "grad" || name == "value_and_grad" || name == "hvp" ||
                            name == "vhp" || name == "hessian";
        Instruction at{op};
        at.operands = arguments(s, name == "hessian");
        auto const given = values_of(s, at.operands);
        bool const real = !at_complex(s, at.operands[0]);
        std::vector<std::size_t> captured;
        at.inner = inner(s, given, number ? Want::number : Want::anything, {}, captured, false);
        auto const type = at.inner->type(at.inner->result);
        if (name == "jacobian" && real && type.is_complex) throw Refused();
        at.operands.insert(at.operands.end(), captured.begin(), captured.end());
        if (name == "vjp" || name == "pull back")
            at.operands.push_back(with_type(s, any_register(s), type));
        if (name == "jvp" || name == "linearize" || name == "hvp" || name == "vhp")
            for (auto const& v : given)
                at.operands.push_back(with_type(s, any_register(s), type_of(v)));
        auto const n = given.size();
        at.numbers = {static_cast<std::int64_t>(below(random_, n)),
            static_cast<std::int64_t>(below(random_, n)),
            static_cast<std::int64_t>(2 * below(random_, 2))}; // forward mode is not recorded
        add(s, std::move(at));
    }
    void solution(Scope& s) {
        auto const& list = groups_["solution"];
        auto const* op = list[below(random_, list.size())];
        Instruction at{op};
        bool const complex = chance(random_, 0.2);
        Type const x{
            complex, chance(random_, 0.5) ? shape_of(s.values[any_register(s)]) : some_shape()};
        if (xg::numel(x.shape) > 6) throw Refused();
        Values given{random_value(x)};
        if (chance(random_, 0.8)) {
            at.operands = arguments(s, false);
            if (at.operands.size() == 2)
                for (auto& r : at.operands) r = with_kind(s, r, complex);
            if (at.operands.size() == 1 && complex && !at_complex(s, at.operands[0]))
                at.operands[0] = with_kind(s, at.operands[0], chance(random_, 0.5));
            for (auto const r : at.operands) given.push_back(s.values[r]);
        }
        std::vector<std::size_t> captured;
        at.inner = inner(s, given, Want::type, x, captured, false,
            "end of " + (op->name == "implicit" ? "root" : op->name));
        at.operands.insert(at.operands.end(), captured.begin(), captured.end());
        if (op->name == "linear_solve") at.operands.push_back(with_type(s, any_register(s), x));
        at.numbers = {static_cast<std::int64_t>(below(random_, 5))};
        if (op->name == "argmin") at.numbers[0] = 0;
        add(s, std::move(at));
    }
    void of_examples(Scope& s) {
        auto const& list = groups_["vmap"];
        auto const* op = list[below(random_, list.size())];
        if (s.batched) throw Refused();
        Instruction at{op};
        auto const rows = 1 + below(random_, 3);
        bool const one = op->name != "vmap";
        at.operands = arguments(s, one);
        if (one) at.operands.resize(1);
        Values given;
        for (auto& r : at.operands) {
            auto shape = shape_of(s.values[r]);
            if (shape.empty() || shape[0] != rows) {
                xg::Shape wanted{rows};
                for (auto const n : some_shape()) wanted.push_back(n);
                r = with_shape(s, r, wanted);
            }
            given.push_back(
                std::visit([](auto const& t) -> Value { return xg::eval(t(0)); }, s.values[r]));
        }
        std::vector<std::size_t> captured;
        bool const number = op->name == "hessian by rows";
        at.inner = inner(s, given, number ? Want::number : Want::anything, {}, captured, true);
        if (one && at.inner->type(at.inner->result).is_complex) throw Refused();
        at.operands.insert(at.operands.end(), captured.begin(), captured.end());
        add(s, std::move(at));
    }

    Function finished(Scope& s, Want want, Type const& type) {
        // What nobody has used yet is the result, or becomes part of it.
        std::size_t r = s.values.size() - 1;
        if (want == Want::number) {
            auto const& list = groups_[at_complex(s, r) ? "complex number" : "number"];
            if (at_complex(s, r) || !shape_of(s.values[r]).empty())
                r = add(s, {list[below(random_, list.size())], {r}});
        } else if (want == Want::type) r = with_type(s, r, type);
        return pruned(s, r);
    }
    /// The function without what its result does not need; kept_captured_ says what it captures.
    Function pruned(Scope const& s, std::size_t result) {
        auto const& f = s.f;
        std::vector<char> used(s.values.size());
        used[result] = true;
        for (std::size_t k = f.code.size(); k-- > 0;)
            if (used[f.first() + k])
                for (auto const r : f.code[k].operands) used[r] = true;
        Function g;
        g.parameters = f.parameters;
        kept_captured_.clear();
        std::vector<std::size_t> renamed(s.values.size());
        std::size_t next = 0;
        for (std::size_t r = 0; r < s.values.size(); ++r) {
            bool const parameter = r < f.parameters.size();
            if (!parameter && !used[r]) continue;
            renamed[r] = next++;
            if (parameter) continue;
            if (r < f.first()) {
                kept_captured_.push_back(r - f.parameters.size());
                g.captured.push_back(f.captured[r - f.parameters.size()]);
            } else {
                auto at = f.code[r - f.first()];
                for (auto& o : at.operands) o = renamed[o];
                g.code.push_back(std::move(at));
            }
        }
        g.result = renamed[result];
        return g;
    }

    Random random_;
    Catalogue const& all_;
    Tallies& tallies_;
    Settings settings_;
    std::map<std::string, std::vector<Operation const*>> groups_;
    std::vector<std::string> drawn_;
    std::vector<std::size_t> kept_captured_;
};

} // namespace

Program make_program(
    std::uint64_t seed, Catalogue const& all, Tallies& tallies, Settings const& settings) {
    auto p = Maker(seed * 0x9E3779B97F4A7C15u + 1, all, tallies, settings).make();
    p.seed = seed;
    return p;
}

} // namespace composed
