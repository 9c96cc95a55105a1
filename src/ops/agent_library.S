// The agent, or nothing: see CMakeLists.txt.
  .section .rodata
  .global clrscope_agent_library
  .global clrscope_agent_library_end
  .balign 16
clrscope_agent_library:
  .incbin "libclrscope_agent.so"
clrscope_agent_library_end:
  .byte 0
  .section .note.GNU-stack, "", @progbits
