# One static library per room, its sources globbed, its allowed dependencies linked. Warnings are errors.

add_library(attune_settings INTERFACE)
target_compile_features(attune_settings INTERFACE cxx_std_20)
target_compile_options(attune_settings INTERFACE -Wall -Wextra -Wpedantic -Werror -ffp-contract=off)
# g++ 12 reports overlaps in std::string operator+ that cannot happen (GCC bug 105651).
target_compile_options(attune_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_include_directories(attune_settings INTERFACE ${CMAKE_SOURCE_DIR})
if(ATTUNE_SANITIZE)
    # The instrumentation hides from g++ what its flow warnings need to know; the plain builds give the same warnings without false ones.
    target_compile_options(attune_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
                                                     $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
    target_compile_options(attune_settings INTERFACE -fsanitize=${ATTUNE_SANITIZE} -fno-omit-frame-pointer -g1)
    target_link_options(attune_settings INTERFACE -fsanitize=${ATTUNE_SANITIZE})
endif()

function(attune_room name)
    cmake_parse_arguments(ROOM "" "" "LINK" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    if(sources)
        add_library(attune_${name} STATIC ${sources})
        target_link_libraries(attune_${name} PUBLIC attune_settings ${ROOM_LINK})
    else()
        add_library(attune_${name} INTERFACE)
        target_link_libraries(attune_${name} INTERFACE attune_settings ${ROOM_LINK})
    endif()
endfunction()
