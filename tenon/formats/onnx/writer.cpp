// Graphs to ModelProto: names, types, weights, nodes; operators without a row go through
// decomposition first.
#include <algorithm>
#include <cstring>

#include "tenon/base/file.h"
#include "tenon/formats/onnx/proto.h"
#include "tenon/formats/onnx/writer_internal.h"
#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"

namespace tenon::onnx {
namespace {

constexpr int kOldestWritten = 21;
constexpr std::int64_t kIrVersion = 10;
constexpr std::int64_t kMaxInline = std::int64_t{1} << 30;

std::int64_t bytes_of_constants(const Graph& g) {
  std::int64_t total = 0;
  for (const Value* v : g.constants()) total += static_cast<std::int64_t>(v->tensor().bytes());
  return total;
}

// Replaces nodes that have no row by their decomposition until every node has one, or none is left
// to try.
void decompose_unwritten(Graph& g, std::vector<Error>& problems) {
  for (Node* node = g.first(); node;) {
    for (const auto& region : node->regions()) decompose_unwritten(*region, problems);
    Node* next = node->next();
    if (!find_write_row(node->op().name)) {
      if (!node->op().decompose) {
        problems.push_back(
            unsupported("{} has no counterpart in ONNX", node->op().name).at(node->place()));
      } else {
        Node* before = node->previous();
        GraphBuilder builder(g, ops::table(), node);
        builder.set_origin(node->name(), node->origin());
        const Values parts = node->op().decompose(builder, Call(*node));
        Status status = builder.take_status();
        if (!status.ok()) problems.push_back(std::move(status).error().at(node->place()));
        for (std::size_t i = 0; i < parts.size() && i < node->outputs().size(); ++i)
          if (parts[i]) g.replace_uses(node->outputs()[i], parts[i]);
        g.erase(node);
        next = before ? before->next() : g.first();  // the parts may need the same
      }
    }
    node = next;
  }
}

// Values that nobody uses would be outputs without a name in the file; drop their nodes.
void drop_dead_nodes(Graph& g) {
  for (Node* node = g.last(); node;) {
    Node* previous = node->previous();
    const bool dead =
        std::all_of(node->outputs().begin(), node->outputs().end(), [&](const Value* v) {
          return v->uses().empty() &&
                 std::find(g.outputs().begin(), g.outputs().end(), v) == g.outputs().end();
        });
    if (dead) g.erase(node);
    node = previous;
  }
}

int version_for_types(const Graph& g) {
  int version = 0;
  const auto look = [&](const Value* v) {
    if (!v || !v->type().defined()) return;
    const DType d = v->type().dtype();
    if (d == DType::f4e2m1) version = std::max(version, 23);
    if (d == DType::f8e8m0) version = std::max(version, 24);
    if (d == DType::i2 || d == DType::u2) version = std::max(version, 25);
  };
  for (const Value* v : g.inputs()) look(v);
  for (const Node* n : g.nodes()) {
    for (const Value* v : n->inputs()) look(v);
    for (const Value* v : n->outputs()) look(v);
    for (const auto& r : n->regions()) version = std::max(version, version_for_types(*r));
  }
  return version;
}

}  // namespace

// ---- types and tensors
// ------------------------------------------------------------------------------

WireWriter type_proto(const Type& type) {
  if (type.is_sequence())
    return WireWriter().message(4, WireWriter().message(1, type_proto(type.element())));
  if (type.is_optional())
    return WireWriter().message(9, WireWriter().message(1, type_proto(type.element())));
  WireWriter tensor;
  tensor.integer(1, onnx_dtype(type.dtype()));
  if (type.ranked()) {
    WireWriter shape;
    for (const Dim& d : type.shape())
      shape.message(
          1, d.is_constant() ? WireWriter().integer(1, d.value()) : WireWriter().text(2, d.text()));
    tensor.message(2, shape);
  }
  return WireWriter().message(1, tensor);
}

std::string packed_elements(const Tensor& t) {
  const int bits = bits_of(t.dtype());
  if (bits >= 8) return std::string(reinterpret_cast<const char*>(t.raw()), t.bytes());
  const auto in = t.data<std::uint8_t>();
  const std::size_t per_byte = static_cast<std::size_t>(8 / bits);
  std::string out((in.size() + per_byte - 1) / per_byte, '\0');
  const unsigned mask = (1u << bits) - 1;
  for (std::size_t k = 0; k < in.size(); ++k)
    out[k / per_byte] =
        static_cast<char>(static_cast<unsigned char>(out[k / per_byte]) |
                          ((in[k] & mask) << (static_cast<unsigned>(bits) * (k % per_byte))));
  return out;
}

WireWriter tensor_proto(const Tensor& t, std::string_view name, std::string_view location,
                        std::int64_t offset) {
  WireWriter w;
  w.integers(1, t.dims()).integer(2, onnx_dtype(t.dtype()));
  if (!name.empty()) w.text(8, name);
  if (t.dtype() == DType::string) {
    for (const std::string& s : t.data<std::string>()) w.text(6, s);
  } else if (location.empty()) {
    if (bits_of(t.dtype()) < 8)
      w.text(9, packed_elements(t));
    else
      w.text(9, {reinterpret_cast<const char*>(t.raw()), t.bytes()});
  } else {
    const auto entry = [&](std::string_view key, std::string_view value) {
      w.message(13, WireWriter().text(1, key).text(2, value));
    };
    entry("location", location);
    entry("offset", std::to_string(offset));
    entry("length", std::to_string((t.count() * bits_of(t.dtype()) + 7) / 8));
    w.integer(14, 1);
  }
  return w;
}

// ---- names
// ------------------------------------------------------------------------------------------

namespace {

// Counts on from the number of names taken, so that many equal stems do not walk over each other.
std::string unique_in(std::set<std::string, std::less<>>& taken, std::string_view stem) {
  std::string name(stem);
  for (std::size_t i = taken.size(); !taken.insert(name).second; ++i)
    name = fmt::format("{}_{}", stem, i);
  return name;
}

}  // namespace

std::string ModelWriter::fresh_name(std::string_view stem) {
  return unique_in(taken_, stem.empty() ? "v" : stem);
}
std::string ModelWriter::fresh_node_name(std::string_view stem) {
  return unique_in(taken_nodes_, stem);
}

void ModelWriter::need(std::string_view domain, int version) {
  auto [it, fresh] = opsets_.try_emplace(std::string(domain), version);
  it->second = std::max(it->second, version);
}

// Graph inputs and outputs keep their names; other values keep theirs where they are free.
void ModelWriter::name_values(const Graph& g, bool is_region) {
  for (const Value* v : g.inputs())
    if (!names_.contains(v)) names_[v] = fresh_name(v->name());
  std::vector<std::string> wanted = g.output_names();
  for (std::size_t i = 0; i < g.outputs().size(); ++i) {
    const Value* v = g.outputs()[i];
    if (is_region || v->kind() != Value::Kind::result || names_.contains(v)) continue;
    names_[v] = fresh_name(wanted[i]);
  }
  for (const Node* n : g.nodes())
    for (const Value* v : n->outputs())
      if (!names_.contains(v))
        names_[v] =
            fresh_name(v->name().empty() ? fmt::format("{}_{}", n->op().name, v->id()) : v->name());
}

void ModelWriter::add_constants(const Graph& g, WireWriter& out) {
  for (const Value* v : g.constants()) {
    const bool is_output =
        std::find(g.outputs().begin(), g.outputs().end(), v) != g.outputs().end();
    if (v->uses().empty() && !is_output) continue;
    std::string& name = names_[v] =
        fresh_name(v->name().empty() ? fmt::format("c_{}", v->id()) : v->name());
    const Tensor& t = v->tensor();
    const bool external = !data_file_.empty() && t.dtype() != DType::string &&
                          static_cast<std::int64_t>(t.bytes()) >= options_.external_bytes;
    if (!external) {
      out.message(5, tensor_proto(t, name));
      continue;
    }
    constexpr std::int64_t kPage = 4096;  // aligned so that readers can map
    data_bytes_ = (data_bytes_ + kPage - 1) / kPage * kPage;
    out.message(5, tensor_proto(t, name, data_file_, data_bytes_));
    external_.emplace_back(&t, data_bytes_);
    data_bytes_ += (t.count() * bits_of(t.dtype()) + 7) / 8;
  }
}

WireWriter ModelWriter::graph(const Graph& g, bool is_region) {
  WireWriter out;
  name_values(g, is_region);
  add_constants(g, out);
  for (const Node* n : g.nodes()) {
    NodeWriter w(*this, *n, out);
    const WriteRow* row = find_write_row(n->op().name);
    if (!row) continue;  // reported before
    need(row->domain, row->since);
    if (!row->write) {
      w.translate(*row);
      continue;
    }
    Status status = row->write(w);
    if (!status.ok()) problem(std::move(status).error().at(n->place()));
  }
  out.text(2, g.name().empty() ? "graph" : g.name());
  return out;
}

Result<std::string> ModelWriter::model(const Graph& source) {
  graph_ = source.clone();
  Graph* const g = graph_.get();
  decompose_unwritten(*g, problems_);
  drop_dead_nodes(*g);
  need("", std::max(kOldestWritten, version_for_types(*g)));
  WireWriter body = graph(*g, false);
  for (const Value* v : g->inputs())
    body.message(11, WireWriter().text(1, names_[v]).message(2, type_proto(v->type())));
  for (std::size_t i = 0; i < g->outputs().size(); ++i) {
    const Value* v = g->outputs()[i];
    const std::string& wanted = g->output_names()[i];
    if (names_[v] != wanted) {  // an input, a constant or a second output of one value
      body.message(1, WireWriter().text(1, names_[v]).text(2, wanted).text(4, "Identity"));
      taken_.insert(wanted);
    }
    body.message(12, WireWriter().text(1, wanted).message(2, type_proto(v->type())));
  }
  if (!problems_.empty()) {
    Error first = std::move(problems_.front());
    first.others.assign(std::make_move_iterator(problems_.begin() + 1),
                        std::make_move_iterator(problems_.end()));
    return first;
  }
  if (options_.opset > 0 && options_.opset < opsets_[""])
    return unsupported("the graph needs operator set {} but {} is asked for", opsets_[""],
                       options_.opset)
        .with_help("ask for a newer operator set");
  if (options_.opset > 0) opsets_[""] = options_.opset;
  written_.opset = opsets_[""];
  WireWriter m;
  m.integer(1,
            kIrVersion + (written_.opset >= 23) + (written_.opset >= 24) + (written_.opset >= 25))
      .text(2, "tenon")
      .message(7, body);
  for (const auto& [domain, version] : opsets_)
    m.message(8, WireWriter().text(1, domain).integer(2, version));
  for (const auto& [key, value] : source.metadata())
    if (key != "producer" && key != "opset")
      m.message(14, WireWriter().text(1, key).text(2, value));
  return std::move(m).bytes();
}

Result<std::string> write_bytes(const Graph& graph, const WriteOptions& options, Written* written) {
  if (bytes_of_constants(graph) > kMaxInline)
    return error(Code::out_of_memory, "the weights take {} bytes, more than fits into one message",
                 bytes_of_constants(graph))
        .with_help("write to a file, with external data");
  WriteOptions inside = options;
  ModelWriter writer(inside, "");
  std::string bytes = TENON_TRY(writer.model(graph));
  if (written) *written = std::move(writer.written());
  return bytes;
}

namespace {

// One tensor after the other, so that no second copy of all weights is ever in memory.
Status write_data_file(const std::filesystem::path& path,
                       const std::vector<std::pair<const Tensor*, std::int64_t>>& tensors) {
  AtomicFile file = TENON_TRY(AtomicFile::create(path));
  std::int64_t at = 0;
  for (const auto& [tensor, offset] : tensors) {
    TENON_TRY(file.write(std::string(static_cast<std::size_t>(offset - at), '\0')));
    const bool is_packed = bits_of(tensor->dtype()) < 8;
    const std::string packed = is_packed ? packed_elements(*tensor) : std::string();
    const std::string_view bytes =
        is_packed ? std::string_view(packed)
                  : std::string_view(reinterpret_cast<const char*>(tensor->raw()), tensor->bytes());
    TENON_TRY(file.write(bytes));
    at = offset + static_cast<std::int64_t>(bytes.size());
  }
  return file.commit();
}

}  // namespace

Result<Written> write(const Graph& graph, const std::filesystem::path& path,
                      const WriteOptions& options) {
  WriteOptions effective = options;
  if (bytes_of_constants(graph) > kMaxInline)
    effective.external_bytes = std::min<std::int64_t>(effective.external_bytes, 1024);
  const std::string data_name = path.filename().string() + ".data";
  ModelWriter writer(effective, data_name);
  const std::string bytes = TENON_TRY(writer.model(graph));
  if (!writer.external().empty()) {
    TENON_TRY(write_data_file(path.parent_path() / data_name, writer.external()));
    writer.written().data_files.push_back(data_name);
  }
  TENON_TRY(write_file_atomic(path, bytes));
  return std::move(writer.written());
}

// ---- runtime values
// ---------------------------------------------------------------------------------

std::string datum_bytes(const Datum& value, const Type& type, std::string_view name) {
  // SequenceProto and OptionalProto number what they hold: 1 tensor, 3 sequence, 5 optional.
  const auto kind_of = [](const Type& t) { return t.is_sequence() ? 3 : t.is_optional() ? 5 : 1; };
  const auto field_of = [](const Type& t) { return t.is_sequence() ? 5 : t.is_optional() ? 7 : 3; };
  if (type.is_sequence()) {
    WireWriter w;
    if (!name.empty()) w.text(1, name);
    w.integer(2, kind_of(type.element()));
    for (const Datum& item : value.items())
      w.text(field_of(type.element()), datum_bytes(item, type.element()));
    return std::move(w).bytes();
  }
  if (type.is_optional()) {
    WireWriter w;
    if (!name.empty()) w.text(1, name);
    w.integer(2, kind_of(type.element()));
    if (!value.is_absent()) w.text(field_of(type.element()), datum_bytes(value, type.element()));
    return std::move(w).bytes();
  }
  return tensor_proto(value.tensor(), name).bytes();
}

}  // namespace tenon::onnx
