# tenon_fuzzer(NAME DEPS room...): the entry point tests/fuzz/NAME_fuzzer.cpp twice over.
#
# Always: replay_NAME runs it over tests/fuzz/corpus/NAME and over damaged copies of each file, as the test fuzz.NAME
# of the everyday set. With TENON_FUZZ (preset fuzz): fuzz_NAME is the libFuzzer program, and scripts/fuzz.py runs it.
function(tenon_fuzzer name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  list(TRANSFORM arg_DEPS PREPEND tenon_)
  set(source ${name}_fuzzer.cpp)
  add_executable(replay_${name} ${source} replay.cpp)
  target_link_libraries(replay_${name} PRIVATE ${arg_DEPS})
  add_test(NAME fuzz.${name} COMMAND replay_${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS unit TIMEOUT 120)
  if(TENON_FUZZ)
    add_executable(fuzz_${name} ${source})
    target_link_libraries(fuzz_${name} PRIVATE ${arg_DEPS})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()
