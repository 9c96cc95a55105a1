// The helper of `clrscope enable`, or nothing: see cmake/hook.cmake.
  .section .rodata
  .global clrscope_hook
  .global clrscope_hook_end
  .balign 16
clrscope_hook:
  .incbin "clrscope_hook.dll"
clrscope_hook_end:
  .byte 0
  .section .note.GNU-stack, "", @progbits
