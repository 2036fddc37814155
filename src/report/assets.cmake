# Turns the style sheets and the script into assets.c: arrays rather than string literals, for
# a literal may portably have 4095 characters only.
set(assets_c "#include \"assets.h\"\n")
foreach(file chart.css light.css page.css page.js)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${file})
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(REPLACE "." "_" name ${file})
  string(APPEND assets_c "const char asset_${name}[] = {\n${bytes}0};\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/assets.c CONTENT "${assets_c}" @ONLY)
