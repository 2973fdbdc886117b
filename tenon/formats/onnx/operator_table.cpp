// All rows, found by domain and name.
#include <algorithm>
#include <map>

#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

struct Table {
  Rows rows;
  std::map<std::pair<std::string_view, std::string_view>, const Row*> by_name;
  Table() {
    add_math_rows(rows);
    add_reduce_rows(rows);
    add_shape_rows(rows);
    add_index_rows(rows);
    add_nn_rows(rows);
    add_attention_rows(rows);
    add_resize_rows(rows);
    add_quant_rows(rows);
    add_random_rows(rows);
    add_signal_rows(rows);
    add_text_rows(rows);
    add_sequence_rows(rows);
    add_control_rows(rows);
    add_ml_rows(rows);
    add_training_rows(rows);
    add_contrib_rows(rows);
    for (const Row& row : rows)
      TENON_CHECK(by_name.emplace(std::pair(row.domain, row.op_type), &row).second, "two rows convert {}", row.op_type);
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

}  // namespace

const Row* find_row(std::string_view domain, std::string_view op_type) {
  const auto it = table().by_name.find({domain, op_type});
  return it == table().by_name.end() ? nullptr : it->second;
}

std::vector<std::string> operator_names(std::string_view domain) {
  std::vector<std::string> names;
  for (const Row& row : table().rows)
    if (row.domain == domain) names.emplace_back(row.op_type);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tenon::onnx
