// Buffers that one picture gave up and the next one takes: large allocations would otherwise go
// back to the system and be faulted in again for every sample.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/dataset/image.h"

namespace tenon::dataset {

/// A buffer of `bytes` bytes with unspecified contents, from this thread's spare ones if one is
/// large enough.
std::vector<std::uint8_t> take_spare(std::size_t bytes);
/// Keeps a buffer for take_spare: a few a thread, none above 64 MiB.
void give_spare(std::vector<std::uint8_t>&& buffer);

/// make_image without zeros, out of spare buffers.
Image scratch_image(int width, int height, int channels);

}  // namespace tenon::dataset
