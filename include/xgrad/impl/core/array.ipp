// Bodies of array.hpp, memory.hpp and ref.hpp.
#pragma once

#include <xgrad/core/array.hpp>
#include <xgrad/core/memory.hpp>
#include <xgrad/core/ref.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void visit_rows(
    Shape const& shape, Strides const* const* strides, std::size_t operands, RowVisitor visit) {
    std::ptrdiff_t offset[4] = {};
    if (numel(shape) == 0) return;
    std::size_t const rank = shape.size();
    if (rank == 0) return visit.call(visit.context, 1, offset);
    Shape index(rank, 0);
    for (;;) {
        visit.call(visit.context, shape[rank - 1], offset);
        std::size_t d = rank - 1;
        for (;;) {
            if (d-- == 0) return;
            for (std::size_t k = 0; k < operands; ++k) offset[k] += (*strides[k])[d];
            if (++index[d] < shape[d]) break;
            for (std::size_t k = 0; k < operands; ++k)
                offset[k] -= (*strides[k])[d] * static_cast<std::ptrdiff_t>(shape[d]);
            index[d] = 0;
        }
    }
}

XGRAD_FUNCTION Ref<Storage> Storage::make(std::size_t bytes) {
    return Ref<Storage>::adopt(::new (allocate(header_for(bytes) + bytes)) Storage(bytes, 0));
}

XGRAD_FUNCTION void Storage::destroy(Storage* s) noexcept {
    if (s->size_ & (shared | external)) [[unlikely]]
        return s->is_external() ? destroy_external(s) : release_block(s);
    auto const total = header_for(s->bytes()) + s->bytes();
    s->~Storage();
    deallocate(s, total);
}

XGRAD_FUNCTION Ref<Storage> Storage::make_external(
    ExternalMemory const& memory, std::size_t bytes) {
    auto* const s = ::new (allocate(header + sizeof(ExternalMemory))) Storage(bytes, external);
    ::new (&s->external_memory()) ExternalMemory(memory);
    return Ref<Storage>::adopt(s);
}

XGRAD_FUNCTION void Storage::destroy_external(Storage* s) noexcept {
    auto const memory = s->external_memory();
    s->~Storage();
    deallocate(s, header + sizeof(ExternalMemory));
    if (memory.release) memory.release(memory.owner);
}

XGRAD_FUNCTION Ref<Storage> Storage::make_behind(
    void* object, std::size_t before, std::size_t bytes) noexcept {
    auto* const seam = ::new (static_cast<std::byte*>(object) + before) Seam(before);
    return Ref<Storage>::adopt(::new (seam + 1) Storage(bytes, shared));
}

XGRAD_FUNCTION Storage* Storage::behind(void* object, std::size_t before) noexcept {
    return reinterpret_cast<Storage*>(static_cast<std::byte*>(object) + before + sizeof(Seam));
}

XGRAD_FUNCTION void Storage::release_block(Storage* s) noexcept {
    if (s->seam()->owners.decrement()) s->free_block();
}

XGRAD_FUNCTION void Storage::free_block() noexcept {
    auto* const seam = this->seam();
    deallocate(
        reinterpret_cast<std::byte*>(seam) - seam->before, seam->before + shared_bytes(bytes()));
}

XGRAD_FUNCTION std::byte* Storage::data() noexcept {
    if (is_external()) [[unlikely]]
        return external_memory().data;
    return reinterpret_cast<std::byte*>(this) + header_for(bytes());
}

XGRAD_FUNCTION void Storage::bump() noexcept {
    if (single_threaded()) version_.store(version() + 1, std::memory_order_relaxed);
    else version_.fetch_add(1, std::memory_order_relaxed);
}

/// Copies between two views: one has stride 1 along the last axis, the other along axis d.
XGRAD_LAZY void copy_transposed_axis(
    AnyArray const& to, AnyArray const& from, std::size_t d, std::size_t element) {
    std::size_t const last = to.shape.size() - 1, rows = to.shape[d], columns = to.shape[last];
    bool const reads_across = from.strides[d] == 1;
    Shape others = to.shape;
    others[d] = others[last] = 1;
    Strides const* const strides[] = {&to.strides, &from.strides};
    auto const bytes = static_cast<std::ptrdiff_t>(element);
    for_each_run(others, strides, [&](std::size_t, std::ptrdiff_t const* at) {
        auto *const t = to.data + at[0] * bytes, *const f = from.data + at[1] * bytes;
        if (reads_across)
            copy_transposed(element, t, to.strides[d], f, from.strides[last], rows, columns);
        else copy_transposed(element, t, to.strides[last], f, from.strides[d], columns, rows);
    });
}

XGRAD_LAZY void copy_strided_elements(
    AnyArray const& to, AnyArray const& from, std::size_t element) {
    std::size_t const rank = to.shape.size();
    std::ptrdiff_t const to_step = rank ? to.strides[rank - 1] : 0,
                         from_step = rank ? from.strides[rank - 1] : 0;
    for (std::size_t d = 0; d + 1 < rank; ++d) {
        bool const reads = from.strides[d] == 1 && to_step == 1,
                   writes = to.strides[d] == 1 && from_step == 1;
        if (reads != writes && to.shape[d] >= 8 && to.shape[rank - 1] >= 8)
            return copy_transposed_axis(to, from, d, element);
    }
    Strides const* const strides[] = {&to.strides, &from.strides};
    with_element_size(element, [&]<std::size_t Bytes>(Opaque<Bytes>) {
        for_each_run(to.shape, strides, [&](std::size_t n, std::ptrdiff_t const* at) {
            auto* t = reinterpret_cast<Opaque<Bytes>*>(to.data) + at[0];
            auto const* f = reinterpret_cast<Opaque<Bytes> const*>(from.data) + at[1];
            if (to_step == 1 && from_step == 1) std::memmove(t, f, n * Bytes);
            else
                for (; n > 0; --n, t += to_step, f += from_step) *t = *f;
        });
    });
}

XGRAD_LAZY_BODY void set_to_zero(AnyArray const& a, std::size_t element) {
    alignas(16) std::byte zero[16] = {};
    AnyArray from{AnyArray::Number()};
    from.data = zero;
    from.set_view(a.shape, Strides(a.shape.size(), std::ptrdiff_t{0}));
    copy_elements(a, from, element);
}

XGRAD_FUNCTION void AnyArray::set_view(Shape s, Strides st, std::ptrdiff_t bytes) {
    data += bytes;
    numel = xgrad::numel(s);
    contiguous = detail::is_row_major(s, st);
    padded_to = 0; // where its elements have another type, it is a part of them
    shape = std::move(s);
    strides = std::move(st);
    copy_strided.store(&copy_strided_elements, std::memory_order_relaxed);
}

XGRAD_FUNCTION bool is_dense(AnyArray const& a) {
    if (a.contiguous) return true;
    std::size_t const rank = a.shape.size();
    std::ptrdiff_t next = 1;
    for (std::size_t placed = 0; placed < rank; ++placed) {
        std::size_t d = 0;
        while (d < rank && (a.shape[d] == 1 || a.strides[d] != next)) ++d;
        if (d == rank) break;
        next *= static_cast<std::ptrdiff_t>(a.shape[d]);
    }
    return static_cast<std::size_t>(next) == a.numel;
}

XGRAD_FUNCTION AnyArray fresh_like(AnyArray const& a, std::size_t element) {
    AnyArray out = is_dense(a) ? AnyArray(AnyArray::Layout{a}) : AnyArray(a.shape);
    out.allocate(out.numel * element, element >= 8);
    return out;
}

XGRAD_FUNCTION bool overlaps_itself(AnyArray const& a) {
    for (std::size_t d = 0; a.numel && d < a.shape.size(); ++d)
        if (a.shape[d] > 1 && a.strides[d] == 0) return true;
    return false;
}

XGRAD_FUNCTION void* system_allocate(std::size_t bytes) {
    return bytes <= small_block ? ::operator new(bytes)
                                : ::operator new(bytes, std::align_val_t{block_alignment});
}

XGRAD_FUNCTION void system_deallocate(void* p, std::size_t bytes) noexcept {
    if (bytes <= small_block) ::operator delete(p);
    else ::operator delete(p, std::align_val_t{block_alignment});
}

XGRAD_FUNCTION void BlockCache::clear() noexcept {
    for (std::size_t i = 0; i < classes; ++i)
        while (Link* const block = free_[i]) {
            free_[i] = block->next;
            system_deallocate(block, SizeClass::bytes_of(i));
        }
    held_ = 0;
}

XGRAD_NOINLINE XGRAD_FUNCTION void deallocate_unkept(void* p, SizeClass c) noexcept {
    if (auto* const cache = block_cache ? nullptr : make_block_cache(); cache && cache->give(p, c))
        return;
    system_deallocate(p, c.bytes);
}

XGRAD_FUNCTION bool RefCount::increment_if_owned() noexcept {
    auto count = count_.load(std::memory_order_relaxed);
    while (count != 0)
        if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) return true;
    return false;
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION void empty_cache() noexcept {
    if (auto* const cache = detail::this_thread_cache()) cache->clear();
}

XGRAD_FUNCTION void set_cache_limit(std::size_t bytes) noexcept {
    if (auto* const cache = detail::this_thread_cache()) {
        cache->limit = bytes;
        if (cache->held() > bytes) cache->clear();
    }
}

XGRAD_FUNCTION std::size_t cached_bytes() noexcept {
    auto const* const cache = detail::this_thread_cache();
    return cache ? cache->held() : 0;
}

} // namespace xgrad
