# tenon_embed(ROOM NAME FILES...): text files under data/ compiled into a room, so that presets need no
# search path at run time. Makes `tenon::NAME()` (declared in the room): a list of {file name, text}.
function(tenon_embed room name)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  string(CONCAT text "#include \"tenon/machine/embedded_file.h\"\n\nnamespace tenon {\n"
    "std::span<const EmbeddedFile> ${name}() {\n  static constexpr EmbeddedFile kFiles[] = {\n")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(stem ${file} NAME)
    file(READ ${file} content)
    string(APPEND text "      {\"${stem}\", R\"__tenon(${content})__tenon\"},\n")
  endforeach()
  string(APPEND text "  };\n  return kFiles;\n}\n}  // namespace tenon\n")
  file(GENERATE OUTPUT ${out} CONTENT "${text}")
  target_sources(tenon_${room} PRIVATE ${out})
endfunction()
