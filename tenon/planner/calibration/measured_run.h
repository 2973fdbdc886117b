// Measured training steps: the published tables, and a user's own points.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/machine/cluster.h"
#include "tenon/planner/calibration/csv_table.h"
#include "tenon/planner/model_spec.h"
#include "tenon/planner/plan.h"

namespace tenon::planner {

/// One measured step.
struct MeasuredRun {
  std::string id;     // "vtrain_multinode_a100.csv#12"
  std::string label;  // for people: "39.1B tp8 dp4 pp16 mbs6"
  ModelSpec model;
  Cluster cluster;
  Plan plan;
  double seconds = 0;
};

/// The published tables that hold whole steps: name, number of rows, runs in each row.
struct TrainingTable {
  const char* name;
  std::size_t num_rows;
};
const std::vector<TrainingTable>& training_tables();

/// A compiled-in file of data/training/; an error when its row count changed.
Result<CsvTable> training_table(std::string_view name);
/// The runs of a published table, in row order. `selective_recompute_a100.csv` gives two a row:
/// full recomputation ("#1f"), and selective with sequence parallelism ("#1s").
Result<std::vector<MeasuredRun>> training_runs(std::string_view name);

/// A user's points: columns as in data/training/ and `kind, device, vocab, recompute,
/// sequence_parallel, zero_stage`; optionally `model` (a preset), `seq`, `ffn`, `kv_heads`, `cp`,
/// `ep`, `precision`, `schedule`, `gbytes_per_second` (between nodes), `devices_per_node`. All
/// problems of the file are reported.
Result<std::vector<MeasuredRun>> runs_of_points(const CsvTable& table, const std::string& device);

}  // namespace tenon::planner
