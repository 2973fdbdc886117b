/* The C ABI: models by handle, tensors by pointer, errors by code and text. Plain C. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Outcome of a call; the others are the codes of tenon/base/error.h in their order, from 1. */
#define TENON_OK 0

typedef struct tenon_model tenon_model;
typedef struct tenon_outputs tenon_outputs;

/* A dense row-major tensor on the host. `dtype` is Tenon's name of the element type: "f32", "i64",
 * "bf16" ... Inputs: memory of the caller, read during the call only. Outputs: memory of their
 * tenon_outputs. */
typedef struct tenon_tensor {
  const char* name;
  const char* dtype;
  int ndim;
  const int64_t* dims;
  const void* data;
  size_t bytes;
} tenon_tensor;

/* Reads and compiles a model. `backend` NULL means "cpu"; `num_threads` 0 means all that the
 * process may use. */
int tenon_model_load(const char* path, const char* backend, int num_threads, tenon_model** model);
void tenon_model_free(tenon_model* model);

int tenon_model_num_inputs(const tenon_model* model);
int tenon_model_num_outputs(const tenon_model* model);
/* NULL when there is no such input; the text lives as long as the model. */
const char* tenon_model_input_name(const tenon_model* model, int index);
const char* tenon_model_output_name(const tenon_model* model, int index);

/* Runs once; inputs by name in any order. Threads may run one model at once. Text tensors are not
 * supported. */
int tenon_model_run(const tenon_model* model, const tenon_tensor* inputs, int num_inputs,
                    tenon_outputs** outputs);
int tenon_outputs_count(const tenon_outputs* outputs);
/* NULL when there is no such output; lives until tenon_outputs_free. */
const tenon_tensor* tenon_outputs_at(const tenon_outputs* outputs, int index);
void tenon_outputs_free(tenon_outputs* outputs);

/* What the last call of this thread that failed has to say: message with place, and the remedy (""
 * if none). */
const char* tenon_last_error(void);
const char* tenon_last_help(void);

#ifdef __cplusplus
}
#endif
