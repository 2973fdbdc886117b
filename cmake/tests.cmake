# Registers every room's unit tests with ctest, and the tests that are not C++.
include(GoogleTest)
get_property(rooms GLOBAL PROPERTY TENON_UNIT_TESTS)
foreach(room IN LISTS rooms)
  gtest_discover_tests(tenon_${room}_test TEST_PREFIX ${room}. DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS unit TIMEOUT 120)
endforeach()
add_test(NAME layers COMMAND python3 ${PROJECT_SOURCE_DIR}/scripts/check_layers.py)
set_tests_properties(layers PROPERTIES LABELS unit)
