// TensorBoard event files: scalars in protocol buffers framed as TFRecords.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::train {

/// CRC-32C (Castagnoli) of RFC 3720, appendix B.4.
std::uint32_t crc32c(std::string_view bytes);
/// One TFRecord: length, masked checksum of the length, bytes, masked checksum of the bytes.
std::string tf_record(std::string_view bytes);
/// An Event message with the scalars of one step. Field numbers: tensorflow/core/util/event.proto
/// and framework/summary.proto.
std::string scalar_event(double wall_seconds, std::int64_t step,
                         std::span<const std::pair<std::string, double>> scalars);
/// The Event that every file begins with.
std::string version_event(double wall_seconds);

/// A file that grows by an event a step.
class EventWriter {
 public:
  /// A new file events.out.tfevents.SECONDS.HOST in `folder`.
  static Result<std::unique_ptr<EventWriter>> create(const std::filesystem::path& folder);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  Status write(std::int64_t step, std::span<const std::pair<std::string, double>> scalars);

 private:
  EventWriter() = default;
  std::FILE* file_ = nullptr;
};

}  // namespace tenon::train
