; level: x86-64-v4
; passes: 
;
; The bits of y under a mask of bits, the others of x, where x is not 0, else x: one vpternlogd with a mask register, whose first operand is x. The
; instruction selector exchanges its operands, so that the loaded one is the last, but not the bits of the immediate. The result is the difference
; to the bits of y, which are all 1.
define i32 @errata(ptr %p) {
  %q = getelementptr i8, ptr %p, i64 64
  %l = load <16 x i32>, ptr %p, align 4
  %y = load <16 x i32>, ptr %q, align 4
  %x = xor <16 x i32> %l, splat (i32 252645135)
  %m = icmp eq <16 x i32> %x, zeroinitializer
  %s = and <16 x i32> %x, splat (i32 -2147483648)
  %a = and <16 x i32> %y, splat (i32 2147483647)
  %c = or <16 x i32> %a, %s
  %r = select <16 x i1> %m, <16 x i32> %x, <16 x i32> %c
  store <16 x i32> %r, ptr %p, align 4
  %e = load volatile i32, ptr %p, align 4
  %d = add i32 %e, 1
  ret i32 %d
}
