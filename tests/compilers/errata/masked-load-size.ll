; level: x86-64-v3
;
; The mask is true in the upper eight lanes, which are a register. The load that combineMaskedLoadConstantMask makes of it has a memory operand of unknown size, and
; X86AvoidStoreForwardingBlocks ends the process: "Invalid size request on a scalable vector".
define i32 @errata(ptr %p) {
  %n = load i32, ptr %p
  %i = insertelement <16 x i32> poison, i32 %n, i64 0
  %s = shufflevector <16 x i32> %i, <16 x i32> poison, <16 x i32> zeroinitializer
  %c = icmp ugt <16 x i32> %s, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %m = or <16 x i1> %c, <i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1>
  %v = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr %p, i32 4, <16 x i1> %m, <16 x i32> zeroinitializer)
  %q = getelementptr i8, ptr %p, i64 64
  store <16 x i32> %v, ptr %q, align 4
  ret i32 0
}

declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, i32, <16 x i1>, <16 x i32>)
