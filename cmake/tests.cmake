# Registers every room's unit tests with ctest, and the tests that are not C++.
include(GoogleTest)
get_property(rooms GLOBAL PROPERTY TENON_UNIT_TESTS)
foreach(room IN LISTS rooms)
  gtest_discover_tests(tenon_${room}_test TEST_PREFIX ${room}. DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS unit TIMEOUT 120)
endforeach()

# The interpreter of the tests: .venv has what they need beyond the standard library (scripts/setup.sh --tests).
find_program(TENON_PYTHON NAMES python3 PATHS ${PROJECT_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
if(NOT TENON_PYTHON)
  find_program(TENON_PYTHON NAMES python3 REQUIRED)
endif()
set(TENON_TEST_ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1" "NO_COLOR=1" "TENON=$<TARGET_FILE:tenon>"
  "TENON_INPUTS=${tenon_cache}/inputs")

# tenon_python_tests(FOLDER PREFIX LABEL): every test_*.py of tests/FOLDER is the test PREFIX.name; 77 means skipped.
function(tenon_python_tests folder prefix label)
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/test_*.py)
  foreach(test IN LISTS tests)
    get_filename_component(name ${test} NAME_WE)
    string(REGEX REPLACE "^test_" "${prefix}." name ${name})
    add_test(NAME ${name} COMMAND ${TENON_PYTHON} ${test})
    set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "${TENON_TEST_ENVIRONMENT}")
  endforeach()
endfunction()
tenon_python_tests(cli cli e2e)
tenon_python_tests(scripts scripts lint)
tenon_python_tests(docs docs lint)
if(NOT TENON_SANITIZE)  # a sanitized library needs a sanitized program
  tenon_python_tests(api api e2e)
endif()
# The op suite walks the registry: every sample of every page is a test (label op).
file(GLOB op_suite CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/ops/*.cpp)
add_executable(tenon_op_suite ${op_suite})
target_link_libraries(tenon_op_suite PRIVATE tenon_ops GTest::gtest)
# One ctest entry, not a thousand processes.
add_test(NAME op_suite COMMAND tenon_op_suite --gtest_brief=1)
set_tests_properties(op_suite PROPERTIES LABELS op TIMEOUT 600)
foreach(check IN ITEMS layers sizes names format)
  add_test(NAME ${check} COMMAND ${TENON_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/check_${check}.py)
  set_tests_properties(${check} PROPERTIES LABELS lint TIMEOUT 120 SKIP_RETURN_CODE 77
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()
# Tests that need several rooms: tests/<folder>/*_test.cpp (label unit); those of tests/ops belong to the op suite.
file(GLOB room_crossing_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*/*_test.cpp)
list(FILTER room_crossing_tests EXCLUDE REGEX "/tests/ops/")
add_executable(tenon_tests ${room_crossing_tests} ${PROJECT_SOURCE_DIR}/tests/ops/facets.cpp)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/engine/interpreted_operators_test.cpp
  PROPERTIES COMPILE_DEFINITIONS TENON_DOCS="${PROJECT_SOURCE_DIR}/docs")
target_link_libraries(tenon_tests PRIVATE tenon_engine tenon_autograd GTest::gtest_main)
gtest_discover_tests(tenon_tests TEST_PREFIX tests. DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unit TIMEOUT 120)
add_test(NAME headers COMMAND ${TENON_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/check_headers.py)
set_tests_properties(headers PROPERTIES LABELS "lint;slow" TIMEOUT 3600)
# ONNX: folders of backend cases on the interpreter, and models written again for other engines (label slow).
foreach(program suite rewrite)
  add_executable(tenon_onnx_${program} ${PROJECT_SOURCE_DIR}/tests/onnx/${program}.cpp)
  target_link_libraries(tenon_onnx_${program} PRIVATE tenon_formats)
endforeach()
list(APPEND TENON_TEST_ENVIRONMENT "TENON_ONNX_SUITE=$<TARGET_FILE:tenon_onnx_suite>" "TENON_ONNX_REWRITE=$<TARGET_FILE:tenon_onnx_rewrite>")
tenon_python_tests(onnx onnx slow)
# The planner's experiments at full size (minutes).
tenon_python_tests(planner_study planner_study slow)
set_tests_properties(planner_study.study PROPERTIES TIMEOUT 1200)
# Exported plans under the engines' own parsers (an environment of its own: scripts/setup.sh --engines).
tenon_python_tests(engines engines slow)
set_tests_properties(engines.deepspeed engines.torchtitan engines.megatron_core PROPERTIES TIMEOUT 1800)
# Trained models against ONNX Runtime and against the answers that people see (a minute).
tenon_python_tests(models models model)
set_tests_properties(models.foreground PROPERTIES LABELS "model;slow" TIMEOUT 900)
# Training against PyTorch, and through many kills (minutes).
tenon_python_tests(train train slow)
# Models exported from PyTorch, by the script that measures breadth; skipped without scripts/setup.sh --torch.
tenon_python_tests(breadth breadth slow)
set_tests_properties(breadth.breadth PROPERTIES TIMEOUT 1200)
# The cpu backend once more on each plainer instruction set, by masking (TENON_ISA).
foreach(isa plain avx2)
  add_test(NAME cpu_masked.${isa} COMMAND tenon_tests --gtest_filter=Cpu*:Backends*:Fuse* --gtest_brief=1)
  set_tests_properties(cpu_masked.${isa} PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT TENON_ISA=${isa})
endforeach()
