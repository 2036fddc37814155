# Turns what is served as it is into server_assets.c; arrays, for a literal may portably have 4095
# characters only.
set(server_assets "#include \"service.h\"\n")
foreach(file page.html page.css page.js icon.svg openapi.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${file})
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(REPLACE "." "_" name ${file})
  string(APPEND server_assets "const char pboost_asset_${name}[] = {\n${bytes}0};\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/server_assets.c
     CONTENT "${server_assets}" @ONLY)
