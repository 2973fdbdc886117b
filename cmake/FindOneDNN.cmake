# Target tenon_onednn: oneDNN from the package that scripts/fetch_inputs.py keeps in the cache.
#
# Looked for in TENON_ONEDNN_ROOT, else in the cache folder (scripts/cache_dir.py). Its layout: library/lib/libdnnl.so.3
# and headers/include. The library uses the GNU OpenMP runtime (libgomp.so.1).
execute_process(COMMAND python3 ${PROJECT_SOURCE_DIR}/scripts/cache_dir.py
                OUTPUT_VARIABLE tenon_cache OUTPUT_STRIP_TRAILING_WHITESPACE)
set(TENON_ONEDNN_ROOT "${tenon_cache}/onednn" CACHE PATH "Where oneDNN was unpacked")
find_library(ONEDNN_LIBRARY NAMES libdnnl.so.3 PATHS ${TENON_ONEDNN_ROOT}/library/lib NO_DEFAULT_PATH)
find_path(ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp PATHS ${TENON_ONEDNN_ROOT}/headers/include NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS ONEDNN_LIBRARY ONEDNN_INCLUDE
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, or scripts/fetch_inputs.py build")
if(OneDNN_FOUND AND NOT TARGET tenon_onednn)
  add_library(tenon_onednn SHARED IMPORTED)
  set_target_properties(tenon_onednn PROPERTIES
    IMPORTED_LOCATION ${ONEDNN_LIBRARY} IMPORTED_SONAME libdnnl.so.3
    INTERFACE_INCLUDE_DIRECTORIES ${ONEDNN_INCLUDE} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${ONEDNN_INCLUDE})
endif()
