// ZIP archives: every entry of an accepted archive is read or refused. A real archive can expand a
// thousandfold, so only small entries are inflated here.
#include "tenon/base/zip.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto archive =
      tenon::ZipReader::parse(tenon::fuzz::bytes(data, size), tenon::fuzz::borrowed(data));
  if (!archive.ok()) return 0;
  for (const tenon::ZipEntry& entry : archive->entries()) {
    if (entry.bytes < (1u << 20)) static_cast<void>(archive->read(entry).ok());
    if (const auto stored = archive->stored(entry); stored.ok()) tenon::fuzz::touch(*stored);
  }
  return 0;
}
