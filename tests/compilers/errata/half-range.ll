; level: x86-64-v3
; passes: instcombine
;
; 255 << 12 has eight significant bits, and is over the range of half: infinity. InstCombine (isKnownExactCastIntToFP) counts bits, and leaves both conversions out. The
; result is the difference to the bits of infinity.
define i32 @errata(ptr %p) {
  %x = load i8, ptr %p
  %z = zext i8 %x to i32
  %s = shl i32 %z, 12
  %u = uitofp i32 %s to float
  %h = fptrunc float %u to half
  %e = fpext half %h to float
  %b = bitcast float %e to i32
  %r = sub i32 %b, 2139095040
  ret i32 %r
}
