// Stage after stage: prepare, run (window by window where a sound is cut), decode.
#include "tenon/dataset/recipe_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenon/base/file.h"
#include "tenon/dataset/answer_internal.h"
#include "tenon/dataset/prepare.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

// Everything that the inputs of one run became.
struct Prepared {
  NamedTensors tensors;  // those that stay the same for every window
  std::string windowed;  // the input that changes, and its windows
  PreparedAudio audio;
  Source source;
};

Status add_file_input(const RecipeInput& input, const fs::path& file, Prepared& out) {
  if (file.extension() == ".npy") {
    out.tensors.emplace_back(input.name, TENON_TRY(read_npy(file)));
    return {};
  }
  switch (input.kind) {
    case InputKind::image: {
      out.source.picture = TENON_TRY(read_image(file));
      auto prepared = TENON_TRY_AT(file.string(), prepare_image(out.source.picture, input));
      out.source.placement = prepared.placement;
      out.tensors.emplace_back(input.name, std::move(prepared.tensor));
      return {};
    }
    case InputKind::audio:
      out.audio = TENON_TRY_AT(file.string(), prepare_audio(TENON_TRY(read_wav(file)), input));
      out.windowed = input.name;
      out.source.sample_rate = input.audio.sample_rate;
      out.source.hop = input.audio.frame ? input.audio.hop : 0;
      return {};
    case InputKind::text: {
      const auto tokenizer = TENON_TRY(load_tokenizer(input.text.tokenizer));
      auto prepared =
          TENON_TRY_AT(file.string(), prepare_text(TENON_TRY(read_file(file)), input, *tokenizer));
      out.source.texts = prepared.texts;
      for (auto& [name, tensor] : prepared.tensors) {
        if (name == input.text.mask_name) out.source.token_mask = tensor;
        out.tensors.emplace_back(name, std::move(tensor));
      }
      return {};
    }
    case InputKind::tensor:
      return invalid("input '{}' needs an .npy file, not '{}'", input.name, file.string());
  }
  return {};
}

bool needs_file(const RecipeInput& input) {
  return input.kind != InputKind::tensor ||
         (!input.tensor.value.defined() && input.tensor.source.empty());
}

Result<fs::path> file_of(const RecipeInput& input, const Stage& stage,
                         const std::map<std::string, fs::path>& files) {
  if (const auto at = files.find(input.name); at != files.end()) return at->second;
  const auto open = std::count_if(stage.inputs.begin(), stage.inputs.end(), needs_file);
  if (const auto at = files.find(""); at != files.end() && open == 1) return at->second;
  return invalid("input '{}' has no file", input.name)
      .with_help(fmt::format("--input {}=FILE", input.name));
}

Result<Prepared> prepare_first(const Stage& stage, const std::map<std::string, fs::path>& files) {
  Prepared out;
  for (const RecipeInput& input : stage.inputs) {
    if (needs_file(input))
      TENON_TRY(add_file_input(input, TENON_TRY(file_of(input, stage, files)), out));
    else
      out.tensors.emplace_back(input.name, TENON_TRY(prepare_tensor(input, {})));
  }
  for (const auto& [name, file] : files) {
    const bool known =
        name.empty() || std::any_of(stage.inputs.begin(), stage.inputs.end(),
                                    [&](const RecipeInput& i) { return i.name == name; });
    if (!known) return invalid("the recipe has no input '{}'", name);
  }
  return out;
}

Result<Prepared> prepare_later(const Stage& stage, const NamedTensors& previous,
                               const Source& before, const Image* picture) {
  Prepared out;
  out.source = before;
  for (const RecipeInput& input : stage.inputs) {
    if (input.kind == InputKind::tensor) {
      out.tensors.emplace_back(
          input.name, TENON_TRY_AT("input " + input.name, prepare_tensor(input, previous)));
    } else if (input.kind == InputKind::image && picture) {
      auto prepared = TENON_TRY(prepare_image(*picture, input));
      out.source.placement = prepared.placement;
      out.tensors.emplace_back(input.name, std::move(prepared.tensor));
    } else {
      return unsupported("input '{}' of a later stage must be a tensor or the picture", input.name);
    }
  }
  return out;
}

// Joins the outputs of the windows along their first dim.
Result<NamedTensors> joined(const std::vector<NamedTensors>& runs) {
  if (runs.size() == 1) return runs[0];
  NamedTensors out;
  for (std::size_t k = 0; k < runs[0].size(); ++k) {
    const Tensor& first = runs[0][k].second;
    Dims dims = first.ndim() ? first.dims() : Dims{1};
    dims[0] = 0;
    std::size_t bytes = 0;
    for (const NamedTensors& r : runs) {
      const Tensor& t = r[k].second;
      const bool same = t.dtype() == first.dtype() && t.ndim() == first.ndim() &&
                        std::equal(t.dims().begin() + std::min(1, t.ndim()), t.dims().end(),
                                   first.dims().begin() + std::min(1, first.ndim()));
      if (!same || t.dtype() == DType::string)
        return invalid("output '{}' changes from {} to {} between windows", runs[0][k].first,
                       to_text(first.dims()), to_text(t.dims()));
      dims[0] += t.ndim() ? t.dim(0) : 1;
      bytes += t.bytes();
    }
    Tensor all(first.dtype(), dims);
    TENON_CHECK(all.bytes() == bytes, "{} against {}", all.bytes(), bytes);
    std::size_t at = 0;
    for (const NamedTensors& r : runs) {
      if (r[k].second.bytes()) std::memcpy(all.raw() + at, r[k].second.raw(), r[k].second.bytes());
      at += r[k].second.bytes();
    }
    out.emplace_back(runs[0][k].first, std::move(all));
  }
  return out;
}

Result<Tensor> output_named(const NamedTensors& outputs, const std::string& name) {
  for (const auto& [key, tensor] : outputs)
    if (key == name) return tensor;
  return not_found("the model has no output '{}'", name);
}

Result<NamedTensors> run_stage(const Stage& stage, const Prepared& prepared, const RunModel& run) {
  NamedTensors states;
  for (const StateLink& s : stage.states)
    states.emplace_back(s.input, Tensor::zeros(s.dtype, s.dims));
  std::vector<NamedTensors> runs;
  const std::size_t windows = std::max<std::size_t>(1, prepared.audio.windows.size());
  for (std::size_t w = 0; w < windows; ++w) {
    NamedTensors inputs = prepared.tensors;
    if (!prepared.audio.windows.empty())
      inputs.emplace_back(prepared.windowed, prepared.audio.windows[w]);
    inputs.insert(inputs.end(), states.begin(), states.end());
    NamedTensors outputs = TENON_TRY(run(stage.model, inputs));
    if (outputs.empty() || (!runs.empty() && outputs.size() != runs[0].size()))
      return invalid("the model gave {} outputs", outputs.size());
    for (std::size_t i = 0; i < stage.states.size(); ++i)
      states[i].second = TENON_TRY(output_named(outputs, stage.states[i].output));
    runs.push_back(std::move(outputs));
  }
  return joined(runs);
}

// One run for each box that the stage before found.
Result<Answer> run_on_boxes(const Stage& stage, const Answer& found, const Prepared& before,
                            const std::vector<Quad>& boxes, const RunModel& run) {
  Answer all;
  all.json = {{"lines", Json::array()}};
  for (const Quad& box : boxes) {
    const Image part = cut_out(before.source.picture, box);
    const Prepared prepared = TENON_TRY(prepare_later(stage, found.outputs, before.source, &part));
    NamedTensors outputs = TENON_TRY(run_stage(stage, prepared, run));
    Answer one = TENON_TRY(decode_answer(stage.output, outputs, prepared.source, nullptr));
    for (std::string& line : one.lines)
      if (!line.empty()) all.lines.push_back(std::move(line));
    one.json["box"] = box_json(box);
    all.json["lines"].push_back(std::move(one.json));
    all.outputs = std::move(outputs);
  }
  return all;
}

}  // namespace

Result<Answer> run_recipe(const Recipe& recipe, const std::map<std::string, fs::path>& files,
                          const RunModel& run) {
  Prepared prepared = TENON_TRY(prepare_first(recipe.stages[0], files));
  Answer answer;
  std::vector<Quad> boxes;
  for (std::size_t i = 0; i < recipe.stages.size(); ++i) {
    const Stage& stage = recipe.stages[i];
    const auto place = [&] {
      return recipe.stages.size() > 1
                 ? fmt::format("stage {}{}{}", i, stage.model.empty() ? "" : ", ", stage.model)
                 : std::string();
    };
    if (stage.cut_boxes) {
      answer = TENON_TRY_AT(place(), run_on_boxes(stage, answer, prepared, boxes, run));
      continue;
    }
    if (i > 0) {
      const Image picture = prepared.source.picture;
      prepared = TENON_TRY_AT(place(), prepare_later(stage, answer.outputs, prepared.source,
                                                     picture.width ? &picture : nullptr));
    }
    NamedTensors outputs = TENON_TRY_AT(place(), run_stage(stage, prepared, run));
    prepared.source.starts = prepared.audio.starts;
    answer = TENON_TRY_AT(place(), decode_answer(stage.output, outputs, prepared.source, &boxes));
    answer.outputs = std::move(outputs);
  }
  return answer;
}

}  // namespace tenon::dataset
