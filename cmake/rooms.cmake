# tenon_room(NAME DEPS room... LIBS library...): the library of one room.
#
# Sources are every *.cpp below the folder; *_test.cpp become tenon_NAME_test (label unit), and a
# main.cpp is left to the executable that the room's CMakeLists.txt makes of it.
# DEPS names lower rooms only (scripts/check_layers.py holds the floors); LIBS are third-party targets.

add_library(tenon_flags INTERFACE)
target_include_directories(tenon_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tenon_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-designated-field-initializers  # records leave fields at their defaults on purpose
  -Wno-deprecated-declarations  # libstdc++ 12 implements std::stable_sort with a function it deprecates
  -ffp-contract=off  # the same bits whatever the optimiser fuses
  $<$<CONFIG:RelWithDebInfo>:-O2> $<$<CONFIG:RelWithDebInfo>:-g1>)
target_link_libraries(tenon_flags INTERFACE fmt::fmt Threads::Threads)
target_link_options(tenon_flags INTERFACE -fuse-ld=lld)
if(TENON_SANITIZE)
  target_compile_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

if(TENON_FUZZ)
  target_compile_options(tenon_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(tenon_room name)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(TENON_ROOM_EXCLUDE)  # sources that become a target of their own
    list(FILTER sources EXCLUDE REGEX "${TENON_ROOM_EXCLUDE}")
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  add_library(tenon_${name} STATIC ${sources})
  target_link_libraries(tenon_${name} PUBLIC tenon_flags ${arg_LIBS})
  foreach(dep IN LISTS arg_DEPS)
    target_link_libraries(tenon_${name} PUBLIC tenon_${dep})
  endforeach()
  if(TENON_TESTS AND tests)
    add_executable(tenon_${name}_test ${tests})
    target_link_libraries(tenon_${name}_test PRIVATE tenon_${name} GTest::gtest_main)
    set_property(GLOBAL APPEND PROPERTY TENON_UNIT_TESTS ${name})
  endif()
endfunction()
