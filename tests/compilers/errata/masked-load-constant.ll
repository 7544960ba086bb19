; level: x86-64-v3
;
; The mask is false in the upper eight lanes, which are a register. combineMaskedLoadConstantMask takes the constant mask for true: the code generator has left
; the lanes 1, not 0, since of each only the sign bit is demanded. The result is lane 8, which must be zero.
define i32 @errata(ptr %p) {
entry:
  %n = load i32, ptr %p
  %i = insertelement <32 x i32> poison, i32 %n, i64 0
  %s = shufflevector <32 x i32> %i, <32 x i32> poison, <32 x i32> zeroinitializer
  br label %next

next:
  %c = icmp ugt <32 x i32> %s, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %m = and <32 x i1> %c, <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>
  %h = shufflevector <32 x i1> %m, <32 x i1> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr %p, i32 4, <16 x i1> %h, <16 x i32> zeroinitializer)
  %q = getelementptr i8, ptr %p, i64 128
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %v, ptr %q, i32 4, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %o = getelementptr i8, ptr %q, i64 32
  %r = load i32, ptr %o
  ret i32 %r
}

declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, i32, <16 x i1>, <16 x i32>)
declare void @llvm.masked.store.v16i32.p0(<16 x i32>, ptr, i32, <16 x i1>)
