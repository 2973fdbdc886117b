# Registers every room's unit tests with ctest, and the tests that are not C++.
include(GoogleTest)
get_property(rooms GLOBAL PROPERTY TENON_UNIT_TESTS)
foreach(room IN LISTS rooms)
  gtest_discover_tests(tenon_${room}_test TEST_PREFIX ${room}. DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS unit TIMEOUT 120)
endforeach()
add_test(NAME layers COMMAND python3 ${PROJECT_SOURCE_DIR}/scripts/check_layers.py)
set_tests_properties(layers PROPERTIES LABELS unit)
# Every tests/cli/test_*.py drives the built program.
file(GLOB cli_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/test_*.py)
foreach(test IN LISTS cli_tests)
  get_filename_component(name ${test} NAME_WE)
  string(REPLACE "test_" "cli." name ${name})
  add_test(NAME ${name} COMMAND python3 ${test})
  set_tests_properties(${name} PROPERTIES LABELS e2e TIMEOUT 300
    ENVIRONMENT "TENON=$<TARGET_FILE:tenon>;PYTHONDONTWRITEBYTECODE=1")
endforeach()
