// Colourings of the columns of a sparse matrix: columns of one colour go into one tangent.
// A. R. Curtis, M. J. D. Powell, J. K. Reid, "On the estimation of sparse Jacobian matrices", 1974;
// T. F. Coleman, J. J. More, "Estimation of sparse Jacobian matrices and graph coloring problems",
// 1983; A. H. Gebremedhin, F. Manne, A. Pothen, "What color is your Jacobian?", SIAM Review 47,
// 2005; the same and A. Tarafdar, "New acyclic and star coloring algorithms with application to
// computing Hessians", SIAM J. Sci. Comput. 29, 2007.
#pragma once

#include <xgrad/sparse/matrix.hpp>

namespace xgrad::detail {

struct Coloring {
    std::vector<int> color; // of each column
    int count = 0;          // of colours
};

/// Greedy distance-2 colouring, in the order of the columns: no row has entries in two columns of
/// one colour, so that the product with the sum of their unit vectors has each entry alone. In
/// columns of a row that is full all colours differ, and nothing is searched. Stops with the count
/// `limit` where it needs as many.
XGRAD_LAZY Coloring distance2_coloring(
    SparsePattern const& pattern, SparsePattern const& transposed, int limit);

struct StarColoring : Coloring {
    /// For each entry (i, j): whether row i of the product for the colour of j has it alone; else
    /// row j of the product for the colour of i has it.
    std::vector<bool> in_own_row;
};

/// Greedy star colouring of a symmetric matrix, in the order of the columns: neighbours differ, and
/// each path over four vertices has three colours. So two colours together make stars, and the
/// spokes of a star have the entries alone.
XGRAD_LAZY StarColoring star_coloring(SparsePattern const& symmetric);

} // namespace xgrad::detail
