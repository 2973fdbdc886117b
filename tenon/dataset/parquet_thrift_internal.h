// Thrift's compact protocol, as far as Parquet's footers and page headers use it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::dataset {

/// A decoded value. Numbers and booleans are in `number`, strings in `text`, structs in `fields` by
/// their numbers, lists and sets in `items`.
struct ThriftValue {
  std::int64_t number = 0;
  std::string text;
  std::map<int, ThriftValue> fields;
  std::vector<ThriftValue> items;

  const ThriftValue* field(int id) const {
    const auto at = fields.find(id);
    return at == fields.end() ? nullptr : &at->second;
  }
  std::int64_t number_at(int id, std::int64_t fallback = 0) const {
    const ThriftValue* v = field(id);
    return v ? v->number : fallback;
  }
};

/// Reads one struct from the start of `bytes`, which is moved behind it.
Result<ThriftValue> read_thrift_struct(std::span<const std::byte>& bytes);

}  // namespace tenon::dataset
