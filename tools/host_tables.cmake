# The tables of names for a build whose programs do not run here (zig, emscripten): tools/compile_tables.c is built for this machine, by its own compiler, in a
# folder `host` of the build. Or PT2ONNX_TABLES names the file that another build of the same sources has made: it is the same on every machine.
set(PT2ONNX_TABLES "" CACHE FILEPATH "name_tables.c of another build of these sources")
include(ProcessorCount)

# out: the file. sources: what it depends on. zlib: the folder of its sources, or empty where this machine has the library.
function(host_tables out top zlib sources)
  if(PT2ONNX_TABLES)
    add_custom_command(OUTPUT ${out} COMMAND ${CMAKE_COMMAND} -E copy ${PT2ONNX_TABLES} ${out} DEPENDS ${PT2ONNX_TABLES} VERBATIM)
    return()
  endif()
  ProcessorCount(jobs)
  set(host ${PROJECT_BINARY_DIR}/host)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -E env --unset=CC --unset=CFLAGS --unset=LDFLAGS --unset=CMAKE_TOOLCHAIN_FILE
      ${CMAKE_COMMAND} -S ${top} -B ${host} -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O0 -w" "-DPT2ONNX_ZLIB=${zlib}"
    COMMAND ${CMAKE_COMMAND} --build ${host} --parallel ${jobs} --target pt2onnx_name_tables
    COMMAND ${CMAKE_COMMAND} -E copy ${host}/name_tables.c ${out}
    DEPENDS ${sources} VERBATIM)
endfunction()
