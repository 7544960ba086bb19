; level: x86-64-v4
;
; The mask is false in all but the first register of 16 lanes. Of the sum with it the code generator makes a difference, of that a sum, and so on without end. The
; comparison %d is unused: it changes the order of what the code generator does.
define i32 @errata(ptr %p) #0 {
entry:
  %b = load i64, ptr %p
  %a = bitcast i64 %b to <64 x i1>
  %l = call <64 x i32> @llvm.masked.load.v64i32.p0(ptr %p, i32 1, <64 x i1> bitcast (i64 3 to <64 x i1>), <64 x i32> zeroinitializer)
  %c = icmp sgt <64 x i32> %l, zeroinitializer
  br label %head

head:
  %k = phi i32 [ 2, %entry ], [ %n, %head ]
  %y = phi <64 x i32> [ zeroinitializer, %entry ], [ %r, %head ]
  %d = icmp ult <64 x i32> %y, zeroinitializer
  %m = and <64 x i1> %a, %c
  %e = zext <64 x i1> %m to <64 x i32>
  %r = add <64 x i32> %y, %e
  %n = add i32 %k, -1
  %z = icmp eq i32 %n, 0
  br i1 %z, label %end, label %head

end:
  %u = call i32 @llvm.vector.reduce.or.v64i32(<64 x i32> %r)
  ret i32 %u
}

declare <64 x i32> @llvm.masked.load.v64i32.p0(ptr, i32, <64 x i1>, <64 x i32>)
declare i32 @llvm.vector.reduce.or.v64i32(<64 x i32>)

attributes #0 = { "prefer-vector-width"="512" }
