#pragma once

#include <cstdint>
#include <vector>

#include "format/matrix.h"

namespace tercet {

struct SyntheticSpec;

/// Matrix `index` of a synthetic stack: codes and scales from (seed, index), sized so that unit inputs give
/// outputs of about unit size. BF16 values live in `storage` until the next call.
CanonicalMatrix random_matrix(const SyntheticSpec& spec, int64_t index, std::vector<uint16_t>& storage);

}  // namespace tercet
