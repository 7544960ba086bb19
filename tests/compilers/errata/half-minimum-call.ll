; level: x86-64-v3
;
; The comparison is false for a NaN, and the constant is none. The instruction selector makes a minimum of the choice, and calls fminf of the C
; library for it. The input is NaN (0xffff): the result is the difference to the bits of the constant.
define i32 @errata(ptr %p) {
  %x = load half, ptr %p
  %c = fcmp olt half %x, 0xH5090
  %s = select i1 %c, half %x, half 0xH5090
  %b = bitcast half %s to i16
  %z = zext i16 %b to i32
  %r = sub i32 %z, 20624
  ret i32 %r
}
