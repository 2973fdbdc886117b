// Makers of models: each reads its keys and builds into a net.
#pragma once

#include "tenon/base/object_reader.h"
#include "tenon/models/layers.h"
#include "tenon/models/model.h"

namespace tenon::models {

/// What a maker is given: the section's keys, the fields of the samples, and the net.
class Making {
 public:
  Making(ObjectReader& keys, const ModelRequest& request, Net& net)
      : keys(keys), request(request), net(net) {}

  ObjectReader& keys;
  const ModelRequest& request;
  Net& net;

  /// An input for the first field of one of `names` (any field for ""), which must have `ndim` dims
  /// (-1: any number); the net fails where there is none.
  Value* field(const std::vector<std::string>& names, int ndim, bool is_integer = false);
  /// The same, or nullptr where no field has the name.
  Value* field_if_there(const std::string& name);
  /// Key `classes`, else what the data says; must be known.
  std::int64_t classes();
  std::int64_t integer(const char* key, std::int64_t value, std::int64_t low = 1);
  double share(const char* key, double value);
  std::vector<int> integers(const char* key, std::vector<int> value);
};

void make_mlp(Making& m);
void make_lenet(Making& m);
void make_cnn(Making& m);
void make_resnet(Making& m);
void make_vit(Making& m);
void make_detector(Making& m);
void make_bert(Making& m);
void make_gpt(Making& m);
void make_lstm_tagger(Making& m);
void make_wide_and_deep(Making& m);

}  // namespace tenon::models
