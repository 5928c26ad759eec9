; 2980a668afe30528f5b5403f14e2ee0f1f8e6120494f6a6882b16753b2f333dd


define noundef range(i32 -1, -2) i32 @climb(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0:
  %.10 = inttoptr i64 %arg.state to ptr
  %.11 = load i64, ptr %.10, align 1
  %.8.fr.i = freeze i64 %.11
  %.16 = icmp slt i64 %.8.fr.i, 4
  br i1 %.16, label %B78, label %B108

B78:                                              ; preds = %B0
  %const373 = bitcast i64 -4611686018427387904 to i64
  %.13.i = add nsw i64 %arg.state, 8
  %.14.i = inttoptr i64 %.13.i to ptr
  %.15.i = load i64, ptr %.14.i, align 1, !noalias !0
  %.20.i = add nsw i64 %arg.state, 16
  %.21.i = inttoptr i64 %.20.i to ptr
  %.22.i = load i64, ptr %.21.i, align 1, !noalias !0
  %.24.i = add nsw i64 %arg.state, 24
  %.25.i = inttoptr i64 %.24.i to ptr
  %.26.i = load i64, ptr %.25.i, align 1, !noalias !0
  %.28.i = add nsw i64 %arg.state, 40
  %.29.i = inttoptr i64 %.28.i to ptr
  %.30.i = load i64, ptr %.29.i, align 1, !noalias !0
  %.41.i = add nsw i64 %arg.state, 96
  %.42.i = inttoptr i64 %.41.i to ptr
  %.43.i = load i64, ptr %.42.i, align 1, !noalias !0
  %..15.i = tail call i64 @llvm.smax.i64(i64 %.15.i, i64 0)
  %0 = add i64 %.43.i, -1
  br label %B346.i

B346.i:                                           ; preds = %B410.i, %B78
  %lsr.iv365 = phi i64 [ %lsr.iv.next366, %B410.i ], [ %..15.i, %B78 ]
  %lsr.iv84.i = phi i64 [ %lsr.iv.next85.i, %B410.i ], [ %0, %B78 ]
  %lsr.iv82.i = phi i64 [ %lsr.iv.next83.i, %B410.i ], [ %.22.i, %B78 ]
  %1 = tail call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %lsr.iv365, i64 1)
  %ov.i = extractvalue { i64, i1 } %1, 1
  br i1 %ov.i, label %B452.i, label %B348.i

B348.i:                                           ; preds = %B346.i
  %.170.i = inttoptr i64 %lsr.iv82.i to ptr
  %.171.i = load i64, ptr %.170.i, align 1, !noalias !0
  %lsr.iv.next85.i = add i64 %lsr.iv84.i, 1
  %lsr.iv.next366 = add nsw i64 %lsr.iv365, -1
  %lsr.iv.next83.i = add i64 %lsr.iv82.i, 8
  %.178.not.i = icmp slt i64 %.171.i, %lsr.iv.next85.i
  br i1 %.178.not.i, label %B410.i, label %common.ret

B410.i:                                           ; preds = %B348.i
  %.181.i = icmp slt i64 %.171.i, 0
  %.184.i = icmp ne i64 %.171.i, %const373
  %or.cond.i = and i1 %.181.i, %.184.i
  br i1 %or.cond.i, label %common.ret, label %B346.i

B452.i:                                           ; preds = %B346.i
  %.214.i = icmp eq i64 %.8.fr.i, 3
  br i1 %.214.i, label %B474.endif.i, label %B722.endif.i

B506.i:                                           ; preds = %B506.i.preheader, %B716.i.1
  %lsr.iv363 = phi i64 [ %13, %B506.i.preheader ], [ %lsr.iv.next364, %B716.i.1 ]
  %lsr.iv = phi i64 [ %12, %B506.i.preheader ], [ %lsr.iv.next, %B716.i.1 ]
  %lsr.iv60.i = phi i64 [ %lsr.iv.next61.i.1, %B716.i.1 ], [ %lsr.iv60.i.unr, %B506.i.preheader ]
  %2 = add i64 %lsr.iv, 8
  %.352.i = inttoptr i64 %2 to ptr
  %.353.i = load i64, ptr %.352.i, align 1, !noalias !0
  %.358.i = icmp sgt i64 %.353.i, -1
  br i1 %.358.i, label %B590.i, label %B716.i

B590.i:                                           ; preds = %B506.i
  %3 = add i64 %lsr.iv363, 8
  %.361.i = shl nsw i64 %.353.i, 3
  %.363.i = add nsw i64 %.361.i, %.30.i
  %.370.i = inttoptr i64 %.363.i to ptr
  %.371.i = load i64, ptr %.370.i, align 1, !noalias !0
  %.378.i = inttoptr i64 %3 to ptr
  %.379.i = load i64, ptr %.378.i, align 1, !noalias !0
  %.380.i = add nsw i64 %.379.i, %.371.i
  store i64 %.380.i, ptr %.370.i, align 1, !noalias !0
  br label %B716.i

B716.i:                                           ; preds = %B590.i, %B506.i
  %.352.i.1 = inttoptr i64 %lsr.iv to ptr
  %.353.i.1 = load i64, ptr %.352.i.1, align 1, !noalias !0
  %.358.i.1 = icmp sgt i64 %.353.i.1, -1
  br i1 %.358.i.1, label %B590.i.1, label %B716.i.1

B590.i.1:                                         ; preds = %B716.i
  %.361.i.1 = shl nsw i64 %.353.i.1, 3
  %.363.i.1 = add nsw i64 %.361.i.1, %.30.i
  %.370.i.1 = inttoptr i64 %.363.i.1 to ptr
  %.371.i.1 = load i64, ptr %.370.i.1, align 1, !noalias !0
  %.378.i.1 = inttoptr i64 %lsr.iv363 to ptr
  %.379.i.1 = load i64, ptr %.378.i.1, align 1, !noalias !0
  %.380.i.1 = add nsw i64 %.379.i.1, %.371.i.1
  store i64 %.380.i.1, ptr %.370.i.1, align 1, !noalias !0
  br label %B716.i.1

B716.i.1:                                         ; preds = %B590.i.1, %B716.i
  %lsr.iv.next61.i.1 = add nsw i64 %lsr.iv60.i, -2
  %lsr.iv.next = add i64 %lsr.iv, -16
  %lsr.iv.next364 = add i64 %lsr.iv363, -16
  %exitcond230.not.i.1 = icmp eq i64 %lsr.iv.next61.i.1, 0
  br i1 %exitcond230.not.i.1, label %common.ret, label %B506.i

B762.i:                                           ; preds = %B762.i.preheader, %B906.i
  %lsr.iv80.i = phi i64 [ %lsr.iv.next81.i, %B906.i ], [ %.22.i, %B762.i.preheader ]
  %lsr.iv78.i = phi i64 [ %lsr.iv.next79.i, %B906.i ], [ %20, %B762.i.preheader ]
  %lsr.iv76.i = phi i64 [ %lsr.iv.next77.i, %B906.i ], [ %18, %B762.i.preheader ]
  %.494215217.i = phi i64 [ %.501.i, %B906.i ], [ %.43.i, %B762.i.preheader ]
  %.535.i = inttoptr i64 %lsr.iv80.i to ptr
  %.536.i = load i64, ptr %.535.i, align 1, !noalias !0
  %.556.i = icmp sgt i64 %.536.i, -1
  br i1 %.556.i, label %B864.i, label %B906.i

B864.i:                                           ; preds = %B762.i
  %.559.i = shl nsw i64 %.536.i, 3
  %.563.i = add nsw i64 %.559.i, %.30.i
  %.564.i = inttoptr i64 %.563.i to ptr
  %.565.i = load i64, ptr %.564.i, align 1, !noalias !0
  br label %B906.i

B906.i:                                           ; preds = %B864.i, %B762.i
  %found.5.1.i = phi i64 [ %.565.i, %B864.i ], [ %spec.select.i, %B762.i ]
  %4 = add i64 %.26.i, %.494215217.i
  %.578.i = inttoptr i64 %4 to ptr
  %.579.i = load i8, ptr %.578.i, align 1, !noalias !0
  %.581.not.i = icmp eq i8 %.579.i, 0
  %.602.i = icmp eq i64 %found.5.1.i, %const373
  %spec.select33.i = select i1 %.602.i, i64 %.494215217.i, i64 %found.5.1.i
  %found.7.1.i = select i1 %.581.not.i, i64 %found.5.1.i, i64 %spec.select33.i
  %.621.i = inttoptr i64 %lsr.iv78.i to ptr
  store i64 %found.7.1.i, ptr %.621.i, align 1, !noalias !0
  %lsr.iv.next77.i = add i64 %lsr.iv76.i, -1
  %lsr.iv.next79.i = add i64 %lsr.iv78.i, 8
  %lsr.iv.next81.i = add i64 %lsr.iv80.i, 8
  %.501.i = add i64 %.494215217.i, 1
  %.488.i = icmp samesign ugt i64 %lsr.iv.next77.i, 1
  br i1 %.488.i, label %B762.i, label %common.ret

B474.endif.i:                                     ; preds = %B452.i
  %5 = icmp sgt i64 %.15.i, 0
  br i1 %5, label %B506.lr.ph.i, label %common.ret

B506.lr.ph.i:                                     ; preds = %B474.endif.i
  %6 = add i64 %.43.i, %.15.i
  %7 = shl i64 %6, 3
  %8 = add i64 %7, %.30.i
  %9 = shl i64 %.15.i, 3
  %10 = add i64 %.22.i, %9
  %xtraiter = and i64 %.15.i, 1
  %lcmp.mod.not = icmp eq i64 %xtraiter, 0
  br i1 %lcmp.mod.not, label %B506.i.prol.loopexit, label %B506.i.prol

B506.i.prol:                                      ; preds = %B506.lr.ph.i
  %lsr.iv.i.prol = add i64 %8, -8
  %lsr.iv58.i.prol = add i64 %10, -8
  %.352.i.prol = inttoptr i64 %lsr.iv58.i.prol to ptr
  %.353.i.prol = load i64, ptr %.352.i.prol, align 1, !noalias !0
  %.358.i.prol = icmp sgt i64 %.353.i.prol, -1
  br i1 %.358.i.prol, label %B590.i.prol, label %B716.i.prol

B590.i.prol:                                      ; preds = %B506.i.prol
  %.361.i.prol = shl nsw i64 %.353.i.prol, 3
  %.363.i.prol = add nsw i64 %.361.i.prol, %.30.i
  %.370.i.prol = inttoptr i64 %.363.i.prol to ptr
  %.371.i.prol = load i64, ptr %.370.i.prol, align 1, !noalias !0
  %.378.i.prol = inttoptr i64 %lsr.iv.i.prol to ptr
  %.379.i.prol = load i64, ptr %.378.i.prol, align 1, !noalias !0
  %.380.i.prol = add nsw i64 %.379.i.prol, %.371.i.prol
  store i64 %.380.i.prol, ptr %.370.i.prol, align 1, !noalias !0
  br label %B716.i.prol

B716.i.prol:                                      ; preds = %B590.i.prol, %B506.i.prol
  %lsr.iv.next61.i.prol = add nsw i64 %.15.i, -1
  br label %B506.i.prol.loopexit

B506.i.prol.loopexit:                             ; preds = %B716.i.prol, %B506.lr.ph.i
  %lsr.iv60.i.unr = phi i64 [ %.15.i, %B506.lr.ph.i ], [ %lsr.iv.next61.i.prol, %B716.i.prol ]
  %lsr.iv58.i.in.unr = phi i64 [ %10, %B506.lr.ph.i ], [ %lsr.iv58.i.prol, %B716.i.prol ]
  %lsr.iv.i.in.unr = phi i64 [ %8, %B506.lr.ph.i ], [ %lsr.iv.i.prol, %B716.i.prol ]
  %11 = icmp eq i64 %.15.i, 1
  br i1 %11, label %common.ret, label %B506.i.preheader

B506.i.preheader:                                 ; preds = %B506.i.prol.loopexit
  %12 = add i64 %lsr.iv58.i.in.unr, -16
  %13 = add i64 %lsr.iv.i.in.unr, -16
  br label %B506.i

B722.endif.i:                                     ; preds = %B452.i
  %.488216.not.i = icmp slt i64 %.15.i, 1
  br i1 %.488216.not.i, label %common.ret, label %B762.lr.ph.i

B762.lr.ph.i:                                     ; preds = %B722.endif.i
  %.544.i = icmp eq i64 %.8.fr.i, 2
  %spec.select.i = select i1 %.544.i, i64 0, i64 %const373
  br i1 %.544.i, label %B762.us.preheader.i, label %B762.preheader.i

B762.us.preheader.i:                              ; preds = %B762.lr.ph.i
  %14 = add nuw i64 %.15.i, 1
  %15 = shl i64 %.43.i, 3
  %16 = add i64 %15, %.30.i
  %17 = add i64 %.43.i, %.26.i
  br label %B762.us.i

B762.preheader.i:                                 ; preds = %B762.lr.ph.i
  %.596.i = icmp eq i64 %.8.fr.i, 0
  %18 = add nuw i64 %.15.i, 1
  %19 = shl i64 %.43.i, 3
  %20 = add i64 %19, %.30.i
  br i1 %.596.i, label %B762.us7.i.preheader, label %B762.i.preheader

B762.i.preheader:                                 ; preds = %B762.preheader.i
  br label %B762.i

B762.us7.i.preheader:                             ; preds = %B762.preheader.i
  br label %B762.us7.i

B762.us7.i:                                       ; preds = %B906.us23.i, %B762.us7.i.preheader
  %lsr.iv74.i = phi i64 [ %lsr.iv.next75.i, %B906.us23.i ], [ %.22.i, %B762.us7.i.preheader ]
  %lsr.iv72.i = phi i64 [ %lsr.iv.next73.i, %B906.us23.i ], [ %20, %B762.us7.i.preheader ]
  %lsr.iv70.i = phi i64 [ %lsr.iv.next71.i, %B906.us23.i ], [ %18, %B762.us7.i.preheader ]
  %.494215217.us9.i = phi i64 [ %.501.us11.i, %B906.us23.i ], [ %.43.i, %B762.us7.i.preheader ]
  %.535.us15.i = inttoptr i64 %lsr.iv74.i to ptr
  %.536.us16.i = load i64, ptr %.535.us15.i, align 1, !noalias !0
  %.556.us17.i = icmp sgt i64 %.536.us16.i, -1
  br i1 %.556.us17.i, label %B864.us18.i, label %B906.us23.i

B864.us18.i:                                      ; preds = %B762.us7.i
  %.559.us19.i = shl nsw i64 %.536.us16.i, 3
  %.563.us20.i = add nsw i64 %.559.us19.i, %.30.i
  %.564.us21.i = inttoptr i64 %.563.us20.i to ptr
  %.565.us22.i = load i64, ptr %.564.us21.i, align 1, !noalias !0
  br label %B906.us23.i

B906.us23.i:                                      ; preds = %B864.us18.i, %B762.us7.i
  %found.5.1.us24.i = phi i64 [ %.565.us22.i, %B864.us18.i ], [ %spec.select.i, %B762.us7.i ]
  %21 = add i64 %.26.i, %.494215217.us9.i
  %.578.us26.i = inttoptr i64 %21 to ptr
  %.579.us27.i = load i8, ptr %.578.us26.i, align 1, !noalias !0
  %.581.not.us28.i = icmp eq i8 %.579.us27.i, 0
  %found.7.1.us.i = select i1 %.581.not.us28.i, i64 %found.5.1.us24.i, i64 %.494215217.us9.i
  %.621.us31.i = inttoptr i64 %lsr.iv72.i to ptr
  store i64 %found.7.1.us.i, ptr %.621.us31.i, align 1, !noalias !0
  %lsr.iv.next71.i = add i64 %lsr.iv70.i, -1
  %lsr.iv.next73.i = add i64 %lsr.iv72.i, 8
  %lsr.iv.next75.i = add i64 %lsr.iv74.i, 8
  %.501.us11.i = add i64 %.494215217.us9.i, 1
  %.488.us32.i = icmp samesign ugt i64 %lsr.iv.next71.i, 1
  br i1 %.488.us32.i, label %B762.us7.i, label %common.ret

B762.us.i:                                        ; preds = %B906.us.i, %B762.us.preheader.i
  %lsr.iv68.i = phi i64 [ %.22.i, %B762.us.preheader.i ], [ %lsr.iv.next69.i, %B906.us.i ]
  %lsr.iv66.i = phi i64 [ %17, %B762.us.preheader.i ], [ %lsr.iv.next67.i, %B906.us.i ]
  %lsr.iv64.i = phi i64 [ %16, %B762.us.preheader.i ], [ %lsr.iv.next65.i, %B906.us.i ]
  %lsr.iv62.i = phi i64 [ %14, %B762.us.preheader.i ], [ %lsr.iv.next63.i, %B906.us.i ]
  %.535.us.i = inttoptr i64 %lsr.iv68.i to ptr
  %.536.us.i = load i64, ptr %.535.us.i, align 1, !noalias !0
  %.556.us.i = icmp sgt i64 %.536.us.i, -1
  br i1 %.556.us.i, label %B864.us.i, label %B906.us.i

B864.us.i:                                        ; preds = %B762.us.i
  %.559.us.i = shl nsw i64 %.536.us.i, 3
  %.563.us.i = add nsw i64 %.559.us.i, %.30.i
  %.564.us.i = inttoptr i64 %.563.us.i to ptr
  %.565.us.i = load i64, ptr %.564.us.i, align 1, !noalias !0
  br label %B906.us.i

B906.us.i:                                        ; preds = %B864.us.i, %B762.us.i
  %found.5.1.us.i = phi i64 [ %.565.us.i, %B864.us.i ], [ %spec.select.i, %B762.us.i ]
  %.578.us.i = inttoptr i64 %lsr.iv66.i to ptr
  %.579.us.i = load i8, ptr %.578.us.i, align 1, !noalias !0
  %.581.not.us.i = icmp ne i8 %.579.us.i, 0
  %.589.us.i = zext i1 %.581.not.us.i to i64
  %spec.select228.i = add nsw i64 %found.5.1.us.i, %.589.us.i
  %.621.us.i = inttoptr i64 %lsr.iv64.i to ptr
  store i64 %spec.select228.i, ptr %.621.us.i, align 1, !noalias !0
  %lsr.iv.next63.i = add i64 %lsr.iv62.i, -1
  %lsr.iv.next65.i = add i64 %lsr.iv64.i, 8
  %lsr.iv.next67.i = add i64 %lsr.iv66.i, 1
  %lsr.iv.next69.i = add i64 %lsr.iv68.i, 8
  %.488.us.i = icmp samesign ugt i64 %lsr.iv.next63.i, 1
  br i1 %.488.us.i, label %B762.us.i, label %common.ret

B108:                                             ; preds = %B0
  switch i64 %.8.fr.i, label %B316 [
    i64 4, label %B130
    i64 5, label %B182
    i64 6, label %B234
    i64 7, label %B286
  ]

B130:                                             ; preds = %B108
  %.6.i = add nsw i64 %arg.state, 16
  %.7.i1 = inttoptr i64 %.6.i to ptr
  %.8.i2 = load i64, ptr %.7.i1, align 1, !noalias !3
  %.10.i = add nsw i64 %arg.state, 24
  %.11.i = inttoptr i64 %.10.i to ptr
  %.12.i = load i64, ptr %.11.i, align 1, !noalias !3
  %.14.i3 = add nsw i64 %arg.state, 40
  %.15.i4 = inttoptr i64 %.14.i3 to ptr
  %.16.i = load i64, ptr %.15.i4, align 1, !noalias !3
  %.27.i = add nsw i64 %arg.state, 104
  %.28.i5 = inttoptr i64 %.27.i to ptr
  %.29.i6 = load i64, ptr %.28.i5, align 1, !noalias !3
  %.31.i = add nsw i64 %arg.state, 112
  %.32.i = inttoptr i64 %.31.i to ptr
  %.33.i = load i64, ptr %.32.i, align 1, !noalias !3
  %.41.i7 = add nsw i64 %arg.state, 8
  %.42.i8 = inttoptr i64 %.41.i7 to ptr
  %.43.i9 = load i64, ptr %.42.i8, align 1, !noalias !3
  %.125162.not.i = icmp slt i64 %.43.i9, 1
  br i1 %.125162.not.i, label %common.ret, label %B344.i.preheader

B344.i.preheader:                                 ; preds = %B130
  %const371 = bitcast i64 -4611686018427387904 to i64
  br label %B344.i

B344.i:                                           ; preds = %B636.i, %B344.i.preheader
  %.131160163.i = phi i64 [ %.138.i, %B636.i ], [ 0, %B344.i.preheader ]
  %.138.i = add nuw nsw i64 %.131160163.i, 1
  %.167.i = shl nsw i64 %.131160163.i, 3
  %.169.i = add nsw i64 %.167.i, %.8.i2
  %.170.i10 = inttoptr i64 %.169.i to ptr
  %.171.i11 = load i64, ptr %.170.i10, align 1, !noalias !3
  %.177.not.i = icmp slt i64 %.171.i11, %.33.i
  br i1 %.177.not.i, label %B400.i, label %common.ret

B400.i:                                           ; preds = %B344.i
  %.180.i = icmp slt i64 %.171.i11, 0
  br i1 %.180.i, label %B412.i, label %B474.i.preheader

B474.i.preheader:                                 ; preds = %B400.i
  br label %B474.i

B412.i:                                           ; preds = %B400.i
  %.183.not.i = icmp eq i64 %.171.i11, %const371
  br i1 %.183.not.i, label %B636.i, label %common.ret

B474.i:                                           ; preds = %B620.i, %B474.i.preheader
  %at.2.1.i = phi i64 [ %.315.i, %B620.i ], [ %.171.i11, %B474.i.preheader ]
  %top.4.1.i = phi i64 [ %top.3.3.i, %B620.i ], [ %const371, %B474.i.preheader ]
  %ones.2.1.i = phi i64 [ %ones.3.3.i, %B620.i ], [ 0, %B474.i.preheader ]
  %twos.2.1.i = phi i64 [ %twos.3.3.i, %B620.i ], [ 0, %B474.i.preheader ]
  %.241.i = add nsw i64 %at.2.1.i, %.12.i
  %.242.i = inttoptr i64 %.241.i to ptr
  %.243.i = load i8, ptr %.242.i, align 1, !noalias !3
  %22 = zext i8 %.243.i to i32
  switch i32 %22, label %B560.i [
    i32 1, label %B522.i
    i32 2, label %B550.i
  ]

B522.i:                                           ; preds = %B474.i
  %.266.i = add nsw i64 %ones.2.1.i, 1
  br label %B560.i

B550.i:                                           ; preds = %B474.i
  %.298.i = add nsw i64 %twos.2.1.i, 1
  br label %B560.i

B560.i:                                           ; preds = %B550.i, %B522.i, %B474.i
  %twos.3.3.i = phi i64 [ %twos.2.1.i, %B522.i ], [ %.298.i, %B550.i ], [ %twos.2.1.i, %B474.i ]
  %top.3.3.i = phi i64 [ %at.2.1.i, %B522.i ], [ %top.4.1.i, %B550.i ], [ %top.4.1.i, %B474.i ]
  %ones.3.3.i = phi i64 [ %.266.i, %B522.i ], [ %ones.2.1.i, %B550.i ], [ %ones.2.1.i, %B474.i ]
  %.311.i = shl nsw i64 %at.2.1.i, 3
  %.313.i = add nsw i64 %.311.i, %.29.i6
  %.314.i = inttoptr i64 %.313.i to ptr
  %.315.i = load i64, ptr %.314.i, align 1, !noalias !3
  %.321.not.i = icmp slt i64 %.315.i, %at.2.1.i
  br i1 %.321.not.i, label %B620.i, label %common.ret

B620.i:                                           ; preds = %B560.i
  %.378.i13 = icmp sgt i64 %.315.i, -1
  br i1 %.378.i13, label %B474.i, label %B636.i

B636.i:                                           ; preds = %B620.i, %B412.i
  %top.2.2.i = phi i64 [ %const371, %B412.i ], [ %top.3.3.i, %B620.i ]
  %ones.4.2.i = phi i64 [ 0, %B412.i ], [ %ones.3.3.i, %B620.i ]
  %twos.4.2.i = phi i64 [ 0, %B412.i ], [ %twos.3.3.i, %B620.i ]
  %.394.i = mul nuw nsw i64 %.131160163.i, 24
  %.396.i = add nsw i64 %.394.i, %.16.i
  %.398.i = inttoptr i64 %.396.i to ptr
  store i64 %top.2.2.i, ptr %.398.i, align 1, !noalias !3
  %.406.i = add nsw i64 %.396.i, 8
  %.408.i = inttoptr i64 %.406.i to ptr
  store i64 %ones.4.2.i, ptr %.408.i, align 1, !noalias !3
  %.418.i = add nsw i64 %.396.i, 16
  %.420.i = inttoptr i64 %.418.i to ptr
  store i64 %twos.4.2.i, ptr %.420.i, align 1, !noalias !3
  %exitcond.not.i = icmp eq i64 %.43.i9, %.138.i
  br i1 %exitcond.not.i, label %common.ret, label %B344.i

B182:                                             ; preds = %B108
  %.14.i20 = add nsw i64 %arg.state, 40
  %.15.i21 = inttoptr i64 %.14.i20 to ptr
  %.16.i22 = load i64, ptr %.15.i21, align 1, !noalias !6
  %.27.i23 = add nsw i64 %arg.state, 48
  %.28.i24 = inttoptr i64 %.27.i23 to ptr
  %.29.i25 = load i64, ptr %.28.i24, align 1, !noalias !6
  %.34.i = add nsw i64 %arg.state, 8
  %.35.i = inttoptr i64 %.34.i to ptr
  %.36.i = load i64, ptr %.35.i, align 1, !noalias !6
  %.11877.not.i = icmp slt i64 %.36.i, 1
  br i1 %.11877.not.i, label %common.ret, label %B292.preheader.i

B292.preheader.i:                                 ; preds = %B182
  %const370 = bitcast i64 -4611686018427387904 to i64
  %.10.i17 = add nsw i64 %arg.state, 32
  %.11.i18 = inttoptr i64 %.10.i17 to ptr
  %.12.i19 = load i64, ptr %.11.i18, align 1, !noalias !6
  %.6.i14 = add nsw i64 %arg.state, 16
  %.7.i15 = inttoptr i64 %.6.i14 to ptr
  %.8.i16 = load i64, ptr %.7.i15, align 1, !noalias !6
  br label %B292.i

B292.i:                                           ; preds = %B526.i, %B292.preheader.i
  %lsr.iv3.i = phi i64 [ %.36.i, %B292.preheader.i ], [ %lsr.iv.next4.i, %B526.i ]
  %lsr.iv1.i = phi i64 [ %.12.i19, %B292.preheader.i ], [ %lsr.iv.next2.i, %B526.i ]
  %lsr.iv.i26 = phi i64 [ %.8.i16, %B292.preheader.i ], [ %lsr.iv.next.i29, %B526.i ]
  %.163.i = inttoptr i64 %lsr.iv.i26 to ptr
  %.164.i = load i64, ptr %.163.i, align 1, !noalias !6
  %.170.not.i = icmp slt i64 %.164.i, %.29.i25
  br i1 %.170.not.i, label %B348.i27, label %common.ret

B348.i27:                                         ; preds = %B292.i
  %.173.i = icmp slt i64 %.164.i, 0
  br i1 %.173.i, label %B360.i, label %B400.i28

B360.i:                                           ; preds = %B348.i27
  %.176.not.i = icmp eq i64 %.164.i, %const370
  br i1 %.176.not.i, label %B526.i, label %common.ret

B400.i28:                                         ; preds = %B348.i27
  %.198.i = shl nsw i64 %.164.i, 3
  %.200.i = add nsw i64 %.198.i, %.16.i22
  %.207.i = inttoptr i64 %.200.i to ptr
  %.208.i = load i64, ptr %.207.i, align 1, !noalias !6
  %.215.i = inttoptr i64 %lsr.iv1.i to ptr
  %.216.i = load i64, ptr %.215.i, align 1, !noalias !6
  %.217.i = add nsw i64 %.216.i, %.208.i
  store i64 %.217.i, ptr %.207.i, align 1, !noalias !6
  br label %B526.i

B526.i:                                           ; preds = %B400.i28, %B360.i
  %lsr.iv.next.i29 = add i64 %lsr.iv.i26, 8
  %lsr.iv.next2.i = add i64 %lsr.iv1.i, 8
  %lsr.iv.next4.i = add i64 %lsr.iv3.i, -1
  %exitcond.not.i30 = icmp eq i64 %lsr.iv.next4.i, 0
  br i1 %exitcond.not.i30, label %common.ret, label %B292.i

B234:                                             ; preds = %B108
  %.10.i34 = add nsw i64 %arg.state, 40
  %.11.i35 = inttoptr i64 %.10.i34 to ptr
  %.12.i36 = load i64, ptr %.11.i35, align 1, !noalias !9
  %.14.i37 = add nsw i64 %arg.state, 48
  %.15.i38 = inttoptr i64 %.14.i37 to ptr
  %.16.i39 = load i64, ptr %.15.i38, align 1, !noalias !9
  %.27.i40 = add nsw i64 %arg.state, 56
  %.28.i41 = inttoptr i64 %.27.i40 to ptr
  %.29.i42 = load i64, ptr %.28.i41, align 1, !noalias !9
  %.31.i43 = add nsw i64 %arg.state, 32
  %.32.i44 = inttoptr i64 %.31.i43 to ptr
  %.33.i45 = load i64, ptr %.32.i44, align 1, !noalias !9
  %.55.i = add nsw i64 %arg.state, 80
  %.56.i = inttoptr i64 %.55.i to ptr
  %.57.i = load i64, ptr %.56.i, align 1, !noalias !9
  %.59.i = add nsw i64 %arg.state, 88
  %.60.i = inttoptr i64 %.59.i to ptr
  %.61.i = load i64, ptr %.60.i, align 1, !noalias !9
  %.71.i = inttoptr i64 %.57.i to ptr
  %.72.i = load i64, ptr %.71.i, align 1, !noalias !9
  %.78.i = add nsw i64 %.57.i, 8
  %.79.i = inttoptr i64 %.78.i to ptr
  %.80.i = load i64, ptr %.79.i, align 1, !noalias !9
  %.86.i = add nsw i64 %.57.i, 16
  %.87.i = inttoptr i64 %.86.i to ptr
  %.88.i = load i64, ptr %.87.i, align 1, !noalias !9
  %.96.i = add nsw i64 %arg.state, 8
  %.97.i = inttoptr i64 %.96.i to ptr
  %.98.i = load i64, ptr %.97.i, align 1, !noalias !9
  %.181326.not.i = icmp slt i64 %.98.i, 1
  br i1 %.181326.not.i, label %B1758.i, label %B714.lr.ph.i

B714.lr.ph.i:                                     ; preds = %B234
  %.45.i = add nsw i64 %arg.state, 72
  %.46.i = inttoptr i64 %.45.i to ptr
  %.47.i = load i64, ptr %.46.i, align 1, !noalias !9
  %.41.i46 = add nsw i64 %arg.state, 120
  %.42.i47 = inttoptr i64 %.41.i46 to ptr
  %.43.i48 = load i64, ptr %.42.i47, align 1, !noalias !9
  %.6.i31 = add nsw i64 %arg.state, 16
  %.7.i32 = inttoptr i64 %.6.i31 to ptr
  %.8.i33 = load i64, ptr %.7.i32, align 1, !noalias !9
  %.323.i = add i64 %.57.i, 24
  %.449308.i = add nsw i64 %.57.i, 48
  br label %B714.i

B714.i:                                           ; preds = %B1760.i, %B714.lr.ph.i
  %place.3.0332.i = phi i64 [ 0, %B714.lr.ph.i ], [ %place.4.2.i, %B1760.i ]
  %last_end.2.0331.i = phi i64 [ %.88.i, %B714.lr.ph.i ], [ %.238.i, %B1760.i ]
  %last_start.2.0330.i = phi i64 [ %.80.i, %B714.lr.ph.i ], [ %.227.i, %B1760.i ]
  %n_lanes.2.0329.i = phi i64 [ %.72.i, %B714.lr.ph.i ], [ %n_lanes.3.2.i, %B1760.i ]
  %.187321327.i = phi i64 [ 0, %B714.lr.ph.i ], [ %.194.i, %B1760.i ]
  %.194.i = add nuw nsw i64 %.187321327.i, 1
  %.223.i = shl nsw i64 %.187321327.i, 3
  %.225.i = add nsw i64 %.223.i, %.29.i42
  %.226.i = inttoptr i64 %.225.i to ptr
  %.227.i = load i64, ptr %.226.i, align 1, !noalias !9
  %.234.i = add nsw i64 %.223.i, %.33.i45
  %.235.i = inttoptr i64 %.234.i to ptr
  %.236.i = load i64, ptr %.235.i, align 1, !noalias !9
  %.238.i = add nsw i64 %.236.i, %.227.i
  %.244.i = icmp slt i64 %.227.i, %last_start.2.0330.i
  br i1 %.244.i, label %common.ret, label %B818.i

B818.i:                                           ; preds = %B714.i
  %.248.i = icmp eq i64 %.227.i, %last_start.2.0330.i
  %.254.i = icmp sgt i64 %.238.i, %last_end.2.0331.i
  %or.cond.i49 = select i1 %.248.i, i1 %.254.i, i1 false
  br i1 %or.cond.i49, label %common.ret, label %B848.i

B848.i:                                           ; preds = %B818.i
  %sunkaddr = inttoptr i64 %.43.i48 to ptr
  %sunkaddr374 = mul i64 %.187321327.i, 8
  %sunkaddr375 = getelementptr i8, ptr %sunkaddr, i64 %sunkaddr374
  %.309.i = load i64, ptr %sunkaddr375, align 1, !noalias !9
  %sunkaddr376 = inttoptr i64 %.47.i to ptr
  %sunkaddr377 = mul i64 %.187321327.i, 8
  %sunkaddr378 = getelementptr i8, ptr %sunkaddr376, i64 %sunkaddr377
  %.315.i50 = load i64, ptr %sunkaddr378, align 1, !noalias !9
  %.325.i = mul nsw i64 %place.3.0332.i, 24
  %.326.i = add nsw i64 %.325.i, %.323.i
  %.332.not.i = icmp slt i64 %place.3.0332.i, %n_lanes.2.0329.i
  br i1 %.332.not.i, label %B974.i, label %B1056.i

B974.i:                                           ; preds = %B848.i
  %.335.i = inttoptr i64 %.326.i to ptr
  %.336.i = load i64, ptr %.335.i, align 1, !noalias !9
  %.338.not.i = icmp eq i64 %.336.i, %.309.i
  br i1 %.338.not.i, label %B1012.i, label %B1056.i

B1012.i:                                          ; preds = %B974.i
  %.355.i = add nsw i64 %.326.i, 8
  %.358.i54 = inttoptr i64 %.355.i to ptr
  %.359.i = load i64, ptr %.358.i54, align 1, !noalias !9
  %.361.not.i = icmp eq i64 %.359.i, %.315.i50
  br i1 %.361.not.i, label %B1426.endif.i, label %B1056.i

B1056.i:                                          ; preds = %B1012.i, %B974.i, %B848.i
  %.391.i = icmp sgt i64 %n_lanes.2.0329.i, 0
  br i1 %.391.i, label %B1082.i, label %B1278.i

B1082.i:                                          ; preds = %B1056.i
  %23 = inttoptr i64 %.323.i to ptr
  %.407.i = load i64, ptr %23, align 1, !noalias !9
  %.409.not.i = icmp eq i64 %.407.i, %.309.i
  br i1 %.409.not.i, label %B1120.i, label %B1164.preheader.i

B1120.i:                                          ; preds = %B1082.i
  %sunkaddr379 = inttoptr i64 %.57.i to ptr
  %sunkaddr380 = getelementptr i8, ptr %sunkaddr379, i64 32
  %.430.i = load i64, ptr %sunkaddr380, align 1, !noalias !9
  %.432.not.i = icmp eq i64 %.430.i, %.315.i50
  br i1 %.432.not.i, label %B1278.i, label %B1164.preheader.i

B1164.preheader.i:                                ; preds = %B1120.i, %B1082.i
  %.460309.not.i = icmp eq i64 %n_lanes.2.0329.i, 1
  br i1 %.460309.not.i, label %B1278.i, label %B1196.preheader.i

B1196.preheader.i:                                ; preds = %B1164.preheader.i
  %24 = mul i64 %n_lanes.2.0329.i, 24
  %25 = add i64 %24, %.323.i
  br label %B1196.i

B1196.i:                                          ; preds = %B1759.i, %B1196.preheader.i
  %.449312.i = phi i64 [ %.449.i, %B1759.i ], [ %.449308.i, %B1196.preheader.i ]
  %.439311.i = phi i64 [ %.439.i, %B1759.i ], [ 1, %B1196.preheader.i ]
  %.467.i = inttoptr i64 %.449312.i to ptr
  %.468.i = load i64, ptr %.467.i, align 1, !noalias !9
  %.470.not.i = icmp eq i64 %.468.i, %.309.i
  br i1 %.470.not.i, label %B1234.i, label %B1759.i

B1234.i:                                          ; preds = %B1196.i
  %26 = add i64 %.449312.i, 8
  %.480.i = inttoptr i64 %26 to ptr
  %.481.i = load i64, ptr %.480.i, align 1, !noalias !9
  %.483.not.i = icmp eq i64 %.481.i, %.315.i50
  br i1 %.483.not.i, label %B1278.i, label %B1759.i

B1278.i:                                          ; preds = %B1234.i, %B1164.preheader.i, %B1120.i, %B1056.i
  %place.5.2.i = phi i64 [ 0, %B1120.i ], [ 0, %B1056.i ], [ 1, %B1164.preheader.i ], [ %.439311.i, %B1234.i ]
  %slot.4.2.i = phi i64 [ %.323.i, %B1120.i ], [ %.323.i, %B1056.i ], [ %.449308.i, %B1164.preheader.i ], [ %.449312.i, %B1234.i ]
  %.508.i = icmp eq i64 %place.5.2.i, %n_lanes.2.0329.i
  br i1 %.508.i, label %B1290.i, label %B1426.endif.i

B1290.i:                                          ; preds = %B1759.i, %B1278.i
  %slot.4.219.i = phi i64 [ %slot.4.2.i, %B1278.i ], [ %25, %B1759.i ]
  %.518.i = icmp eq i64 %n_lanes.2.0329.i, %.61.i
  br i1 %.518.i, label %common.ret, label %B1308.i

B1308.i:                                          ; preds = %B1290.i
  %.571.i = add nsw i64 %n_lanes.2.0329.i, 1
  %.578.i52 = inttoptr i64 %slot.4.219.i to ptr
  store i64 %.309.i, ptr %.578.i52, align 1, !noalias !9
  %.583.i = add nsw i64 %slot.4.219.i, 8
  %.585.i = inttoptr i64 %.583.i to ptr
  store i64 %.315.i50, ptr %.585.i, align 1, !noalias !9
  %.590.i = add nsw i64 %slot.4.219.i, 16
  %.594.i = inttoptr i64 %.590.i to ptr
  store i64 %.227.i, ptr %.594.i, align 1, !noalias !9
  br label %B1426.endif.i

B1758.i:                                          ; preds = %B1760.i, %B234
  %n_lanes.2.0.lcssa.i = phi i64 [ %.72.i, %B234 ], [ %n_lanes.3.2.i, %B1760.i ]
  %last_start.2.0.lcssa.i = phi i64 [ %.80.i, %B234 ], [ %.227.i, %B1760.i ]
  %last_end.2.0.lcssa.i = phi i64 [ %.88.i, %B234 ], [ %.238.i, %B1760.i ]
  %27 = inttoptr i64 %.57.i to ptr
  store i64 %n_lanes.2.0.lcssa.i, ptr %27, align 1, !noalias !9
  %sunkaddr60.i = getelementptr i8, ptr %27, i64 8
  store i64 %last_start.2.0.lcssa.i, ptr %sunkaddr60.i, align 1, !noalias !9
  %sunkaddr62.i = getelementptr i8, ptr %27, i64 16
  store i64 %last_end.2.0.lcssa.i, ptr %sunkaddr62.i, align 1, !noalias !9
  br label %common.ret

B1759.i:                                          ; preds = %B1234.i, %B1196.i
  %.439.i = add i64 %.439311.i, 1
  %.449.i = add nsw i64 %.449312.i, 24
  %exitcond.not.i53 = icmp eq i64 %n_lanes.2.0329.i, %.439.i
  br i1 %exitcond.not.i53, label %B1290.i, label %B1196.i

B1760.i:                                          ; preds = %B1604.endif.endif.i, %B1426.endif.i
  %exitcond355.not.i = icmp eq i64 %.194.i, %.98.i
  br i1 %exitcond355.not.i, label %B1758.i, label %B714.i

B1426.endif.i:                                    ; preds = %B1308.i, %B1278.i, %B1012.i
  %n_lanes.3.2.i = phi i64 [ %.571.i, %B1308.i ], [ %n_lanes.2.0329.i, %B1278.i ], [ %n_lanes.2.0329.i, %B1012.i ]
  %place.4.2.i = phi i64 [ %n_lanes.2.0329.i, %B1308.i ], [ %place.5.2.i, %B1278.i ], [ %place.3.0332.i, %B1012.i ]
  %slot.5.2.i = phi i64 [ %slot.4.219.i, %B1308.i ], [ %slot.4.2.i, %B1278.i ], [ %.326.i, %B1012.i ]
  %.608.i = add nsw i64 %slot.5.2.i, 16
  %.609.i = inttoptr i64 %.608.i to ptr
  %.610.i = load i64, ptr %.609.i, align 1, !noalias !9
  %.13.i.i = tail call i64 @llvm.smax.i64(i64 %.610.i, i64 %.238.i)
  store i64 %.13.i.i, ptr %.609.i, align 1, !noalias !9
  %sunkaddr381 = inttoptr i64 %.8.i33 to ptr
  %sunkaddr382 = mul i64 %.187321327.i, 8
  %sunkaddr383 = getelementptr i8, ptr %sunkaddr381, i64 %sunkaddr382
  %.657.i = load i64, ptr %sunkaddr383, align 1, !noalias !9
  %.662.i = icmp sgt i64 %.657.i, -1
  %.670.i = icmp slt i64 %.657.i, %.16.i39
  %or.cond289.i = select i1 %.662.i, i1 %.670.i, i1 false
  br i1 %or.cond289.i, label %B1604.endif.endif.i, label %B1760.i

B1604.endif.endif.i:                              ; preds = %B1426.endif.i
  %.687.i = shl nsw i64 %.657.i, 3
  %.689.i = add nsw i64 %.687.i, %.12.i36
  %.696.i = inttoptr i64 %.689.i to ptr
  %.697.i = load i64, ptr %.696.i, align 1, !noalias !9
  %.13.i1.i = tail call i64 @llvm.smax.i64(i64 %.610.i, i64 %.227.i)
  %.733.i = sub nsw i64 %.238.i, %.13.i1.i
  %.13.i2.i = tail call i64 @llvm.smax.i64(i64 %.733.i, i64 0)
  %.764.i = add nsw i64 %.697.i, %.13.i2.i
  store i64 %.764.i, ptr %.696.i, align 1, !noalias !9
  br label %B1760.i

B286:                                             ; preds = %B108
  %.9.i = add nsw i64 %arg.state, 16
  %.10.i55 = inttoptr i64 %.9.i to ptr
  %.11.i56 = load i64, ptr %.10.i55, align 1, !noalias !12
  %.14.i57 = add nsw i64 %arg.state, 72
  %.15.i58 = inttoptr i64 %.14.i57 to ptr
  %.16.i59 = load i64, ptr %.15.i58, align 1, !noalias !12
  %.19.i = add nsw i64 %arg.state, 96
  %.20.i60 = inttoptr i64 %.19.i to ptr
  %.21.i61 = load i64, ptr %.20.i60, align 1, !noalias !12
  %.33.i62 = add nsw i64 %arg.state, 120
  %.34.i63 = inttoptr i64 %.33.i62 to ptr
  %.35.i64 = load i64, ptr %.34.i63, align 1, !noalias !12
  %.38.i = add nsw i64 %arg.state, 128
  %.39.i = inttoptr i64 %.38.i to ptr
  %.40.i = load i64, ptr %.39.i, align 1, !noalias !12
  %.49.i = add nsw i64 %arg.state, 144
  %.50.i = inttoptr i64 %.49.i to ptr
  %.51.i = load i64, ptr %.50.i, align 1, !noalias !12
  %.54.i = add nsw i64 %arg.state, 136
  %.55.i65 = inttoptr i64 %.54.i to ptr
  %.56.i66 = load i64, ptr %.55.i65, align 1, !noalias !12
  %.59.i67 = add nsw i64 %arg.state, 80
  %.60.i68 = inttoptr i64 %.59.i67 to ptr
  %.61.i69 = load i64, ptr %.60.i68, align 1, !noalias !12
  %.73.i = add nsw i64 %.61.i69, 8
  %.74.i = inttoptr i64 %.73.i to ptr
  %.75.i = load i64, ptr %.74.i, align 1, !noalias !12
  %.78.i70 = add nsw i64 %.61.i69, 16
  %.79.i71 = inttoptr i64 %.78.i70 to ptr
  %.80.i72 = load i64, ptr %.79.i71, align 1, !noalias !12
  %.83.i = add nsw i64 %.61.i69, 24
  %.84.i = inttoptr i64 %.83.i to ptr
  %.85.i = load i64, ptr %.84.i, align 1, !noalias !12
  %.105.i = add nsw i64 %arg.state, 8
  %.106.i = inttoptr i64 %.105.i to ptr
  %.107.i = load i64, ptr %.106.i, align 1, !noalias !12
  %.113.i = add nsw i64 %.107.i, %.21.i61
  %.116.i = add nsw i64 %arg.state, 152
  %.117.i = inttoptr i64 %.116.i to ptr
  %.118.i = load i64, ptr %.117.i, align 1, !noalias !12
  %.119.i = icmp sgt i64 %.113.i, %.118.i
  br i1 %.119.i, label %common.ret, label %B750.endif.i

B784.i:                                           ; preds = %B784.i.preheader, %B2272.i
  %n_nodes.2.0345.i = phi i64 [ %n_nodes.3.1.i, %B2272.i ], [ %.99.i, %B784.i.preheader ]
  %.248339343.i = phi i64 [ %.255.i, %B2272.i ], [ 0, %B784.i.preheader ]
  %.255.i = add nuw nsw i64 %.248339343.i, 1
  %.285.i = add nsw i64 %.248339343.i, %.21.i61
  %.290.i = shl nsw i64 %.248339343.i, 3
  %.292.i = add nsw i64 %.290.i, %.11.i56
  %.293.i = inttoptr i64 %.292.i to ptr
  %.294.i = load i64, ptr %.293.i, align 1, !noalias !12
  %.301.i = add nsw i64 %.290.i, %.16.i59
  %.302.i = inttoptr i64 %.301.i to ptr
  %.303.i = load i64, ptr %.302.i, align 1, !noalias !12
  %.305.i = icmp ne i64 %.303.i, %.285.i
  %.309.i74 = icmp sge i64 %.294.i, %.285.i
  %or.cond.i75 = select i1 %.305.i, i1 true, i1 %.309.i74
  br i1 %or.cond.i75, label %common.ret, label %B900.i

B900.i:                                           ; preds = %B784.i
  %.312.i = icmp slt i64 %.294.i, 0
  br i1 %.312.i, label %B912.i, label %B956.i

B912.i:                                           ; preds = %B900.i
  %.315.not.i = icmp eq i64 %.294.i, %const369
  br i1 %.315.not.i, label %B998.i, label %common.ret

B956.i:                                           ; preds = %B900.i
  %.360.i = shl nsw i64 %.294.i, 2
  %.364.i = add nsw i64 %.360.i, %.51.i
  %.365.i = inttoptr i64 %.364.i to ptr
  %.366.i = load i32, ptr %.365.i, align 1, !noalias !12
  %.367.i = zext i32 %.366.i to i64
  br label %B998.i

B998.i:                                           ; preds = %B956.i, %B912.i
  %found.5.1.i76 = phi i64 [ %.367.i, %B956.i ], [ 0, %B912.i ]
  %.374.i = shl nsw i64 %.248339343.i, 2
  %.376.i = add nsw i64 %.374.i, %.40.i
  %.377.i = inttoptr i64 %.376.i to ptr
  %.378.i77 = load i32, ptr %.377.i, align 1, !noalias !12
  %.379.i78 = zext i32 %.378.i77 to i64
  %.385.i = icmp eq i64 %.75.i, %.379.i78
  br i1 %.385.i, label %B1054.i, label %B2190.i

B1054.i:                                          ; preds = %B998.i
  %28 = inttoptr i64 %.61.i69 to ptr
  %.390.i = lshr i64 %found.5.1.i76, 2
  %sunkaddr384 = inttoptr i64 %.35.i64 to ptr
  %sunkaddr385 = mul i64 %.248339343.i, 4
  %sunkaddr386 = getelementptr i8, ptr %sunkaddr384, i64 %sunkaddr385
  %.403.i = load i32, ptr %sunkaddr386, align 1, !noalias !12
  %.404.i = zext i32 %.403.i to i64
  %sunkaddr387 = inttoptr i64 %arg.state to ptr
  %sunkaddr388 = getelementptr i8, ptr %sunkaddr387, i64 88
  %.412.i = load i64, ptr %sunkaddr388, align 1, !noalias !12
  %.413.i = add nsw i64 %.412.i, -1
  %const_mat = add i64 %const, 407613254
  %.418.i82 = mul nuw nsw i64 %.390.i, %const_mat
  %.420.i83 = mul nuw i64 %.404.i, %const
  %.421.i = add nuw i64 %.420.i83, %.418.i82
  %.422.i = ashr i64 %.421.i, 15
  %.423.i = xor i64 %.422.i, %.421.i
  %.425.i = and i64 %.423.i, %.413.i
  %sunkaddr21.i = shl i64 %.425.i, 3
  %sunkaddr22.i = getelementptr i8, ptr %28, i64 %sunkaddr21.i
  %sunkaddr23.i = getelementptr i8, ptr %sunkaddr22.i, i64 32
  %.439.i84 = load i64, ptr %sunkaddr23.i, align 1, !noalias !12
  %.449.i85 = mul nsw i64 %.439.i84, 48
  %.451.i = add nsw i64 %.449.i85, %.56.i66
  %.460.not.i = icmp eq i64 %.439.i84, 0
  br i1 %.460.not.i, label %B1746.i, label %B1376.i

B1376.i:                                          ; preds = %B1054.i
  %.475.i = inttoptr i64 %.451.i to ptr
  %.476.i = load i64, ptr %.475.i, align 1, !noalias !12
  %.478.not.i = icmp eq i64 %.476.i, %.404.i
  br i1 %.478.not.i, label %B1436.i, label %B1496.preheader.i

B1436.i:                                          ; preds = %B1376.i
  %.498.i = add nsw i64 %.451.i, 8
  %.501.i89 = inttoptr i64 %.498.i to ptr
  %.502.i = load i64, ptr %.501.i89, align 1, !noalias !12
  %.504.not.i = icmp eq i64 %.502.i, %.390.i
  br i1 %.504.not.i, label %B2038.i, label %B1496.preheader.i

B1496.preheader.i:                                ; preds = %B1436.i, %B1376.i
  %29 = inttoptr i64 %.61.i69 to ptr
  %.513323.i = add nsw i64 %.425.i, 1
  %.517324.i = and i64 %.513323.i, %.413.i
  %sunkaddr25.i = shl i64 %.517324.i, 3
  %sunkaddr26.i = getelementptr i8, ptr %29, i64 %sunkaddr25.i
  %sunkaddr27.i = getelementptr i8, ptr %sunkaddr26.i, i64 32
  %.530328.i = load i64, ptr %sunkaddr27.i, align 1, !noalias !12
  %.549.not331.i = icmp eq i64 %.530328.i, 0
  br i1 %.549.not331.i, label %B1746.i, label %B1614.i.preheader

B1614.i.preheader:                                ; preds = %B1496.preheader.i
  br label %B1614.i

B1614.i:                                          ; preds = %B2321.i, %B1614.i.preheader
  %.530333.i = phi i64 [ %.530.i, %B2321.i ], [ %.530328.i, %B1614.i.preheader ]
  %.517332.i = phi i64 [ %.517.i, %B2321.i ], [ %.517324.i, %B1614.i.preheader ]
  %.539.pn.i = mul nsw i64 %.530333.i, 48
  %.541334.i = add nsw i64 %.539.pn.i, %.56.i66
  %.560.i = inttoptr i64 %.541334.i to ptr
  %.561.i = load i64, ptr %.560.i, align 1, !noalias !12
  %.563.not.i = icmp eq i64 %.561.i, %.404.i
  br i1 %.563.not.i, label %B1674.i, label %B2321.i

B1674.i:                                          ; preds = %B1614.i
  %.578.i88 = add nsw i64 %.541334.i, 8
  %.581.i = inttoptr i64 %.578.i88 to ptr
  %.582.i = load i64, ptr %.581.i, align 1, !noalias !12
  %.584.not.i = icmp eq i64 %.582.i, %.390.i
  br i1 %.584.not.i, label %B2038.i, label %B2321.i

B1746.i:                                          ; preds = %B2321.i, %B1496.preheader.i, %B1054.i
  %slot.3.1.ph.i = phi i64 [ %.425.i, %B1054.i ], [ %.517324.i, %B1496.preheader.i ], [ %.517.i, %B2321.i ]
  %.626.i = shl nsw i64 %n_nodes.2.0345.i, 1
  %.628.not.i = icmp slt i64 %.626.i, %.412.i
  br i1 %.628.not.i, label %B1770.i, label %common.ret

B1770.i:                                          ; preds = %B1746.i
  %30 = inttoptr i64 %.61.i69 to ptr
  %.674.i = add nsw i64 %n_nodes.2.0345.i, 1
  %sunkaddr29.i = shl i64 %slot.3.1.ph.i, 3
  %sunkaddr30.i = getelementptr i8, ptr %30, i64 %sunkaddr29.i
  %sunkaddr31.i = getelementptr i8, ptr %sunkaddr30.i, i64 32
  store i64 %n_nodes.2.0345.i, ptr %sunkaddr31.i, align 1, !noalias !12
  %.689.i86 = mul nsw i64 %n_nodes.2.0345.i, 48
  %.691.i = add nsw i64 %.689.i86, %.56.i66
  %.697.i87 = inttoptr i64 %.691.i to ptr
  store i64 %.404.i, ptr %.697.i87, align 1, !noalias !12
  %.702.i = add nsw i64 %.691.i, 8
  %.704.i = inttoptr i64 %.702.i to ptr
  store i64 %.390.i, ptr %.704.i, align 1, !noalias !12
  %.709.i = add nsw i64 %.691.i, 16
  %.711.i = inttoptr i64 %.709.i to ptr
  store i64 %.285.i, ptr %.711.i, align 1, !noalias !12
  br label %B2038.i

B2038.i:                                          ; preds = %B1770.i, %B1674.i, %B1436.i
  %n_nodes.4.1.i = phi i64 [ %.674.i, %B1770.i ], [ %n_nodes.2.0345.i, %B1436.i ], [ %n_nodes.2.0345.i, %B1674.i ]
  %node.4.1.i = phi i64 [ %n_nodes.2.0345.i, %B1770.i ], [ %.439.i84, %B1436.i ], [ %.530333.i, %B1674.i ]
  %at.3.1.i = phi i64 [ %.691.i, %B1770.i ], [ %.451.i, %B1436.i ], [ %.541334.i, %B1674.i ]
  %.732.i = add nsw i64 %at.3.1.i, 24
  %.738.i = inttoptr i64 %.732.i to ptr
  %.739.i = load i64, ptr %.738.i, align 1, !noalias !12
  %.740.i = add nsw i64 %.739.i, 1
  store i64 %.740.i, ptr %.738.i, align 1, !noalias !12
  %.744.i = shl i64 %node.4.1.i, 2
  %.748.i = or disjoint i64 %.744.i, 3
  br label %B2272.i

B2190.i:                                          ; preds = %B998.i
  %.96.i.i = icmp ne i64 %.80.i72, %.379.i78
  %.96.1.i.i = icmp ne i64 %.85.i, %.379.i78
  %or.cond.i.not.i = select i1 %.96.i.i, i1 %.96.1.i.i, i1 false
  br i1 %or.cond.i.not.i, label %B2230.i, label %B2202.i

B2202.i:                                          ; preds = %B2190.i
  %.809.i = and i64 %found.5.1.i76, 4294967294
  br label %B2272.i

B2230.i:                                          ; preds = %B2190.i
  %.823.i = and i64 %found.5.1.i76, 4294967292
  br label %B2272.i

B2272.i:                                          ; preds = %B2230.i, %B2202.i, %B2038.i
  %n_nodes.3.1.i = phi i64 [ %n_nodes.4.1.i, %B2038.i ], [ %n_nodes.2.0345.i, %B2202.i ], [ %n_nodes.2.0345.i, %B2230.i ]
  %found.6.1.i = phi i64 [ %.748.i, %B2038.i ], [ %.809.i, %B2202.i ], [ %.823.i, %B2230.i ]
  %.835.i = shl nsw i64 %.285.i, 2
  %.839.i = add nsw i64 %.835.i, %.51.i
  %.841.i = trunc i64 %found.6.1.i to i32
  %.842.i = inttoptr i64 %.839.i to ptr
  store i32 %.841.i, ptr %.842.i, align 1, !noalias !12
  %exitcond.not.i79 = icmp eq i64 %.255.i, %.107.i
  br i1 %exitcond.not.i79, label %B2320.i, label %B784.i

B2320.i:                                          ; preds = %B750.endif.i, %B2272.i
  %n_nodes.2.0.lcssa.i = phi i64 [ %.99.i, %B750.endif.i ], [ %n_nodes.3.1.i, %B2272.i ]
  %31 = inttoptr i64 %.61.i69 to ptr
  store i64 %n_nodes.2.0.lcssa.i, ptr %31, align 1, !noalias !12
  br label %common.ret

B2321.i:                                          ; preds = %B1674.i, %B1614.i
  %32 = inttoptr i64 %.61.i69 to ptr
  %.513.i = add nsw i64 %.517332.i, 1
  %.517.i = and i64 %.513.i, %.413.i
  %sunkaddr33.i = shl i64 %.517.i, 3
  %sunkaddr34.i = getelementptr i8, ptr %32, i64 %sunkaddr33.i
  %sunkaddr35.i = getelementptr i8, ptr %sunkaddr34.i, i64 32
  %.530.i = load i64, ptr %sunkaddr35.i, align 1, !noalias !12
  %.549.not.i = icmp eq i64 %.530.i, 0
  br i1 %.549.not.i, label %B1746.i, label %B1614.i

B750.endif.i:                                     ; preds = %B286
  %33 = inttoptr i64 %.61.i69 to ptr
  %.99.i = load i64, ptr %33, align 1, !noalias !12
  %.242342.not.i = icmp slt i64 %.107.i, 1
  br i1 %.242342.not.i, label %B2320.i, label %B784.i.preheader

B784.i.preheader:                                 ; preds = %B750.endif.i
  %const369 = bitcast i64 -4611686018427387904 to i64
  %const = bitcast i64 2246822507 to i64
  br label %B784.i

B316:                                             ; preds = %B108
  %.193 = icmp samesign ult i64 %.8.fr.i, 11
  br i1 %.193, label %B338, label %B368

B338:                                             ; preds = %B316
  %.10.i92 = add nsw i64 %arg.state, 96
  %.11.i93 = inttoptr i64 %.10.i92 to ptr
  %.12.i94 = load i64, ptr %.11.i93, align 1, !noalias !15
  %.14.i95 = add nsw i64 %arg.state, 8
  %.15.i96 = inttoptr i64 %.14.i95 to ptr
  %.16.i97 = load i64, ptr %.15.i96, align 1, !noalias !15
  %.31.i101 = add nsw i64 %arg.state, 32
  %.32.i102 = inttoptr i64 %.31.i101 to ptr
  %.33.i103 = load i64, ptr %.32.i102, align 1, !noalias !15
  %.35.i104 = add nsw i64 %arg.state, 136
  %.36.i105 = inttoptr i64 %.35.i104 to ptr
  %.37.i = load i64, ptr %.36.i105, align 1, !noalias !15
  %.48.i = add nsw i64 %arg.state, 144
  %.49.i106 = inttoptr i64 %.48.i to ptr
  %.50.i107 = load i64, ptr %.49.i106, align 1, !noalias !15
  %.52.i = add nsw i64 %arg.state, 152
  %.53.i = inttoptr i64 %.52.i to ptr
  %.54.i108 = load i64, ptr %.53.i, align 1, !noalias !15
  %.62.i = add nsw i64 %arg.state, 56
  %.63.i = inttoptr i64 %.62.i to ptr
  %.64.i = load i64, ptr %.63.i, align 1, !noalias !15
  %.69.i = add nsw i64 %arg.state, 80
  %.70.i = inttoptr i64 %.69.i to ptr
  %.71.i109 = load i64, ptr %.70.i, align 1, !noalias !15
  %.73.i110 = add nsw i64 %arg.state, 40
  %.74.i111 = inttoptr i64 %.73.i110 to ptr
  %.75.i112 = load i64, ptr %.74.i111, align 1, !noalias !15
  %.77.i = add nsw i64 %arg.state, 48
  %.78.i113 = inttoptr i64 %.77.i to ptr
  %.79.i114 = load i64, ptr %.78.i113, align 1, !noalias !15
  %.90.i = icmp eq i64 %.8.fr.i, 8
  br i1 %.90.i, label %B650.endif.i, label %B958.i

B682.i:                                           ; preds = %B682.i.preheader, %B1669.i
  %lsr.iv13.i = phi i64 [ %lsr.iv.next14.i, %B1669.i ], [ %.16.i97, %B682.i.preheader ]
  %lsr.iv11.i = phi i64 [ %lsr.iv.next12.i, %B1669.i ], [ %.33.i103, %B682.i.preheader ]
  %lsr.iv.i126 = phi i64 [ %lsr.iv.next.i129, %B1669.i ], [ %.29.i100, %B682.i.preheader ]
  %.233.i = inttoptr i64 %lsr.iv.i126 to ptr
  %.234.i127 = load i64, ptr %.233.i, align 1, !noalias !15
  %.239.i = icmp sgt i64 %.234.i127, -1
  %.247.i = icmp slt i64 %.234.i127, %.54.i108
  %or.cond.i128 = select i1 %.239.i, i1 %.247.i, i1 false
  br i1 %or.cond.i128, label %B758.i, label %B1669.i

B758.i:                                           ; preds = %B682.i
  %.260.i = shl nsw i64 %.234.i127, 2
  %.264.i = add nsw i64 %.260.i, %.50.i107
  %.265.i = inttoptr i64 %.264.i to ptr
  %.266.i130 = load i32, ptr %.265.i, align 1, !noalias !15
  %promoted = zext i32 %.266.i130 to i64
  %34 = lshr i64 %promoted, 2
  %.270.i = mul nuw nsw i64 %34, 48
  %sunkaddr389 = inttoptr i64 %.37.i to ptr
  %sunkaddr390 = getelementptr i8, ptr %sunkaddr389, i64 %.270.i
  %sunkaddr391 = getelementptr i8, ptr %sunkaddr390, i64 40
  %.275.i = load i64, ptr %sunkaddr391, align 1, !noalias !15
  %.282.i = inttoptr i64 %lsr.iv11.i to ptr
  %.283.i = load i64, ptr %.282.i, align 1, !noalias !15
  %.284.i = add nsw i64 %.283.i, %.275.i
  store i64 %.284.i, ptr %sunkaddr391, align 1, !noalias !15
  br label %B1669.i

B958.i:                                           ; preds = %B338
  %.313.i115 = add nsw i64 %.16.i97, %.12.i94
  %.315.i116 = icmp sgt i64 %.313.i115, %.54.i108
  br i1 %.315.i116, label %common.ret, label %B980.endif.i

B1669.i:                                          ; preds = %B758.i, %B682.i
  %lsr.iv.next.i129 = add i64 %lsr.iv.i126, 8
  %lsr.iv.next12.i = add i64 %lsr.iv11.i, 8
  %lsr.iv.next14.i = add nsw i64 %lsr.iv13.i, -1
  %exitcond242.not.i = icmp eq i64 %lsr.iv.next14.i, 0
  br i1 %exitcond242.not.i, label %common.ret, label %B682.i

B650.endif.i:                                     ; preds = %B338
  %.188234.not.i = icmp slt i64 %.16.i97, 1
  br i1 %.188234.not.i, label %common.ret, label %B682.i.preheader

B682.i.preheader:                                 ; preds = %B650.endif.i
  %.27.i98 = add nsw i64 %arg.state, 16
  %.28.i99 = inttoptr i64 %.27.i98 to ptr
  %.29.i100 = load i64, ptr %.28.i99, align 1, !noalias !15
  br label %B682.i

B980.endif.i:                                     ; preds = %B958.i
  %.424201.not.i = icmp slt i64 %.16.i97, 1
  br i1 %.424201.not.i, label %common.ret, label %B1014.lr.ph.i

B1014.lr.ph.i:                                    ; preds = %B980.endif.i
  %35 = icmp eq i64 %.8.fr.i, 9
  br i1 %35, label %B1014.lr.ph.split.us.i, label %B1014.us210.preheader.i

B1014.us210.preheader.i:                          ; preds = %B1014.lr.ph.i
  %36 = shl i64 %.12.i94, 2
  %37 = add i64 %.50.i107, %36
  br label %B1014.us210.i

B1014.lr.ph.split.us.i:                           ; preds = %B1014.lr.ph.i
  %38 = shl i64 %.12.i94, 3
  %39 = add i64 %.64.i, %38
  %40 = shl i64 %.12.i94, 2
  %41 = add i64 %.50.i107, %40
  br label %B1014.us.i

B1014.us.i:                                       ; preds = %B1670.us.i, %B1014.lr.ph.split.us.i
  %lsr.iv21.i = phi i64 [ %lsr.iv.next22.i, %B1670.us.i ], [ %.16.i97, %B1014.lr.ph.split.us.i ]
  %lsr.iv19.i = phi i64 [ %lsr.iv.next20.i, %B1670.us.i ], [ %41, %B1014.lr.ph.split.us.i ]
  %lsr.iv17.i = phi i64 [ %lsr.iv.next18.i, %B1670.us.i ], [ %39, %B1014.lr.ph.split.us.i ]
  %lsr.iv15.i = phi i64 [ %lsr.iv.next16.i, %B1670.us.i ], [ %.33.i103, %B1014.lr.ph.split.us.i ]
  %.471.us.i = inttoptr i64 %lsr.iv19.i to ptr
  %.472.us.i = load i32, ptr %.471.us.i, align 1, !noalias !15
  %.473.us.i = zext i32 %.472.us.i to i64
  %.490.us.i = and i64 %.473.us.i, 2
  %.491.not.us.i = icmp eq i64 %.490.us.i, 0
  br i1 %.491.not.us.i, label %B1670.us.i, label %B1152.endif.us.i

B1152.endif.us.i:                                 ; preds = %B1014.us.i
  %42 = inttoptr i64 %.37.i to ptr
  %.479.us.i = lshr i64 %.473.us.i, 2
  %.480.us.i = mul nuw nsw i64 %.479.us.i, 48
  %.499.us.i = inttoptr i64 %lsr.iv15.i to ptr
  %.500.us.i = load i64, ptr %.499.us.i, align 1, !noalias !15
  %.509.us.i = inttoptr i64 %lsr.iv17.i to ptr
  %.510.us.i = load i64, ptr %.509.us.i, align 1, !noalias !15
  %.511.us.i = sub nsw i64 %.500.us.i, %.510.us.i
  %.13.i.i122 = tail call i64 @llvm.smax.i64(i64 %.511.us.i, i64 0)
  %sunkaddr32.i124 = getelementptr i8, ptr %42, i64 %.480.us.i
  %sunkaddr33.i125 = getelementptr i8, ptr %sunkaddr32.i124, i64 32
  %.549.us.i = load i64, ptr %sunkaddr33.i125, align 1, !noalias !15
  %.550.us.i = add nsw i64 %.13.i.i122, %.549.us.i
  store i64 %.550.us.i, ptr %sunkaddr33.i125, align 1, !noalias !15
  br label %B1670.us.i

B1670.us.i:                                       ; preds = %B1152.endif.us.i, %B1014.us.i
  %lsr.iv.next16.i = add i64 %lsr.iv15.i, 8
  %lsr.iv.next18.i = add i64 %lsr.iv17.i, 8
  %lsr.iv.next20.i = add i64 %lsr.iv19.i, 4
  %lsr.iv.next22.i = add nsw i64 %lsr.iv21.i, -1
  %exitcond241.not.i = icmp eq i64 %lsr.iv.next22.i, 0
  br i1 %exitcond241.not.i, label %common.ret, label %B1014.us.i

B1014.us210.i:                                    ; preds = %B1670.us224.i, %B1014.us210.preheader.i
  %lsr.iv27.i = phi i64 [ %.16.i97, %B1014.us210.preheader.i ], [ %lsr.iv.next28.i, %B1670.us224.i ]
  %lsr.iv25.i = phi i64 [ %37, %B1014.us210.preheader.i ], [ %lsr.iv.next26.i, %B1670.us224.i ]
  %lsr.iv23.i = phi i64 [ %.33.i103, %B1014.us210.preheader.i ], [ %lsr.iv.next24.i, %B1670.us224.i ]
  %.471.us218.i = inttoptr i64 %lsr.iv25.i to ptr
  %.472.us219.i = load i32, ptr %.471.us218.i, align 1, !noalias !15
  %.473.us220.i = zext i32 %.472.us219.i to i64
  %.558.us.i = and i64 %.473.us220.i, 1
  %.561.not.us.i = icmp eq i64 %.558.us.i, 0
  br i1 %.561.not.us.i, label %B1670.us224.i, label %B1432.us.i

B1432.us.i:                                       ; preds = %B1014.us210.i
  %.479.us221.i = lshr i64 %.473.us220.i, 2
  %.480.us222.i = mul nuw nsw i64 %.479.us221.i, 48
  %.482.us223.i = add nsw i64 %.480.us222.i, %.37.i
  %.568.us.i = inttoptr i64 %.482.us223.i to ptr
  %.569.us.i = load i64, ptr %.568.us.i, align 1, !noalias !15
  %.570.us.i = shl nsw i64 %.569.us.i, 3
  %.572.us.i = add nsw i64 %.570.us.i, %.71.i109
  %.577.us.i = inttoptr i64 %.572.us.i to ptr
  %.578.us.i117 = load i64, ptr %.577.us.i, align 1, !noalias !15
  %.584.not.us.i = icmp slt i64 %.578.us.i117, %.79.i114
  br i1 %.584.not.us.i, label %B1544.us.i, label %common.ret

B1544.us.i:                                       ; preds = %B1432.us.i
  %.615.us.i = shl nsw i64 %.578.us.i117, 3
  %.617.us.i = add nsw i64 %.615.us.i, %.75.i112
  %.624.us.i = inttoptr i64 %lsr.iv23.i to ptr
  %.625.us.i = load i64, ptr %.624.us.i, align 1, !noalias !15
  %.626.us.i = inttoptr i64 %.617.us.i to ptr
  store i64 %.625.us.i, ptr %.626.us.i, align 1, !noalias !15
  %.629.us.i = add nsw i64 %.578.us.i117, 1
  %sunkaddr392 = inttoptr i64 %.71.i109 to ptr
  %sunkaddr393 = mul i64 %.569.us.i, 8
  %sunkaddr394 = getelementptr i8, ptr %sunkaddr392, i64 %sunkaddr393
  store i64 %.629.us.i, ptr %sunkaddr394, align 1, !noalias !15
  br label %B1670.us224.i

B1670.us224.i:                                    ; preds = %B1544.us.i, %B1014.us210.i
  %lsr.iv.next24.i = add i64 %lsr.iv23.i, 8
  %lsr.iv.next26.i = add i64 %lsr.iv25.i, 4
  %lsr.iv.next28.i = add i64 %lsr.iv27.i, -1
  %exitcond.not.i121 = icmp eq i64 %lsr.iv.next28.i, 0
  br i1 %exitcond.not.i121, label %common.ret, label %B1014.us210.i

B368:                                             ; preds = %B316
  %.228 = icmp eq i64 %.8.fr.i, 11
  br i1 %.228, label %B390, label %B420

B390:                                             ; preds = %B368
  %.6.i134 = add nsw i64 %arg.state, 136
  %.7.i135 = inttoptr i64 %.6.i134 to ptr
  %.8.i136 = load i64, ptr %.7.i135, align 1, !noalias !18
  %.10.i137 = add nsw i64 %arg.state, 80
  %.11.i138 = inttoptr i64 %.10.i137 to ptr
  %.12.i139 = load i64, ptr %.11.i138, align 1, !noalias !18
  %.14.i140 = add nsw i64 %arg.state, 40
  %.15.i141 = inttoptr i64 %.14.i140 to ptr
  %.16.i142 = load i64, ptr %.15.i141, align 1, !noalias !18
  %.27.i143 = add nsw i64 %arg.state, 8
  %.28.i144 = inttoptr i64 %.27.i143 to ptr
  %.29.i145 = load i64, ptr %.28.i144, align 1, !noalias !18
  %.66.i = add i64 %.29.i145, -1
  %.11280.not.i = icmp slt i64 %.66.i, 1
  br i1 %.11280.not.i, label %common.ret, label %B244.i.preheader

B244.i.preheader:                                 ; preds = %B390
  br label %B244.i

B244.i:                                           ; preds = %B950.i, %B244.i.preheader
  %.1187981.i = phi i64 [ %.125.i, %B950.i ], [ 1, %B244.i.preheader ]
  %.125.i = add nuw i64 %.1187981.i, 1
  %.155.i = mul nuw nsw i64 %.1187981.i, 48
  %.157.i = add nsw i64 %.155.i, %.8.i136
  %.159.i = add nsw i64 %.157.i, 40
  %.160.i = inttoptr i64 %.159.i to ptr
  %.161.i = load i64, ptr %.160.i, align 1, !noalias !18
  %.167.i146 = inttoptr i64 %.157.i to ptr
  %.168.i = load i64, ptr %.167.i146, align 1, !noalias !18
  %.169.i147 = mul nsw i64 %.168.i, 24
  %.171.i148 = add nsw i64 %.169.i147, %.16.i142
  %.172.i = inttoptr i64 %.171.i148 to ptr
  %.173.i149 = load i64, ptr %.172.i, align 1, !noalias !18
  %.175.i = add nsw i64 %.173.i149, %.161.i
  store i64 %.175.i, ptr %.172.i, align 1, !noalias !18
  %.178.i = add nsw i64 %.171.i148, 8
  %.180.i150 = inttoptr i64 %.178.i to ptr
  %.181.i151 = load i64, ptr %.180.i150, align 1, !noalias !18
  %.183.i = add nsw i64 %.157.i, 32
  %.184.i152 = inttoptr i64 %.183.i to ptr
  %.185.i = load i64, ptr %.184.i152, align 1, !noalias !18
  %.186.i = add nsw i64 %.185.i, %.181.i151
  store i64 %.186.i, ptr %.180.i150, align 1, !noalias !18
  %.203.not.i = icmp eq i64 %.161.i, 0
  br i1 %.203.not.i, label %B950.i, label %B610.i.preheader

B610.i.preheader:                                 ; preds = %B244.i
  br label %B610.i

B610.i:                                           ; preds = %B874.i, %B610.i.preheader
  %up.2.2.i = phi i64 [ %.264.i157, %B874.i ], [ %.1187981.i, %B610.i.preheader ]
  %.210.i = mul nsw i64 %up.2.2.i, 48
  %.214.i153 = add nsw i64 %.210.i, %.8.i136
  %.221.i = inttoptr i64 %.214.i153 to ptr
  %.222.i = load i64, ptr %.221.i, align 1, !noalias !18
  %.227.i154 = shl nsw i64 %.222.i, 3
  %.229.i = add nsw i64 %.227.i154, %.12.i139
  %.230.i = inttoptr i64 %.229.i to ptr
  %.231.i = load i64, ptr %.230.i, align 1, !noalias !18
  %.233.not.i = icmp eq i64 %.231.i, %.1187981.i
  br i1 %.233.not.i, label %B874.i, label %B744.i

B744.i:                                           ; preds = %B610.i
  %43 = inttoptr i64 %.16.i142 to ptr
  %sunkaddr395 = inttoptr i64 %.12.i139 to ptr
  %sunkaddr396 = mul i64 %.222.i, 8
  %sunkaddr397 = getelementptr i8, ptr %sunkaddr395, i64 %sunkaddr396
  store i64 %.1187981.i, ptr %sunkaddr397, align 1, !noalias !18
  %.243.i156 = mul nsw i64 %.222.i, 24
  %sunkaddr4.i = getelementptr i8, ptr %43, i64 %.243.i156
  %sunkaddr5.i = getelementptr i8, ptr %sunkaddr4.i, i64 16
  %.250.i = load i64, ptr %sunkaddr5.i, align 1, !noalias !18
  %.252.i = add nsw i64 %.250.i, %.161.i
  store i64 %.252.i, ptr %sunkaddr5.i, align 1, !noalias !18
  br label %B874.i

B874.i:                                           ; preds = %B744.i, %B610.i
  %sunkaddr6.i = inttoptr i64 %.210.i to ptr
  %sunkaddr7.i = getelementptr i8, ptr %sunkaddr6.i, i64 %.8.i136
  %sunkaddr8.i = getelementptr i8, ptr %sunkaddr7.i, i64 8
  %.264.i157 = load i64, ptr %sunkaddr8.i, align 1, !noalias !18
  %.269.i = icmp sgt i64 %.264.i157, 0
  br i1 %.269.i, label %B610.i, label %B950.i

B950.i:                                           ; preds = %B874.i, %B244.i
  %exitcond.not.i158 = icmp eq i64 %.125.i, %.29.i145
  br i1 %exitcond.not.i158, label %common.ret, label %B244.i

B420:                                             ; preds = %B368
  %.41.i174 = add nsw i64 %arg.state, 40
  %.42.i175 = inttoptr i64 %.41.i174 to ptr
  %.43.i176 = load i64, ptr %.42.i175, align 1, !noalias !21
  %.45.i177 = add nsw i64 %arg.state, 48
  %.46.i178 = inttoptr i64 %.45.i177 to ptr
  %.47.i179 = load i64, ptr %.46.i178, align 1, !noalias !21
  %.103.i = add nsw i64 %arg.state, 8
  %.104.i = inttoptr i64 %.103.i to ptr
  %.105.i180 = load i64, ptr %.104.i, align 1, !noalias !21
  %.188325.not.i = icmp slt i64 %.105.i180, 1
  br i1 %.188325.not.i, label %common.ret, label %B530.preheader.i

B530.preheader.i:                                 ; preds = %B420
  %const372 = bitcast i64 -4611686018427387904 to i64
  %.31.i171 = add nsw i64 %arg.state, 64
  %.32.i172 = inttoptr i64 %.31.i171 to ptr
  %.33.i173 = load i64, ptr %.32.i172, align 1, !noalias !21
  %.27.i168 = add nsw i64 %arg.state, 56
  %.28.i169 = inttoptr i64 %.27.i168 to ptr
  %.29.i170 = load i64, ptr %.28.i169, align 1, !noalias !21
  %.14.i165 = add nsw i64 %arg.state, 32
  %.15.i166 = inttoptr i64 %.14.i165 to ptr
  %.16.i167 = load i64, ptr %.15.i166, align 1, !noalias !21
  %.10.i162 = add nsw i64 %arg.state, 24
  %.11.i163 = inttoptr i64 %.10.i162 to ptr
  %.12.i164 = load i64, ptr %.11.i163, align 1, !noalias !21
  %.6.i159 = add nsw i64 %arg.state, 16
  %.7.i160 = inttoptr i64 %.6.i159 to ptr
  %.8.i161 = load i64, ptr %.7.i160, align 1, !noalias !21
  br label %B530.i

B530.i:                                           ; preds = %B528.backedge.i, %B530.preheader.i
  %lsr.iv25.i181 = phi i64 [ %.105.i180, %B530.preheader.i ], [ %lsr.iv.next26.i206, %B528.backedge.i ]
  %lsr.iv23.i182 = phi i64 [ %.12.i164, %B530.preheader.i ], [ %lsr.iv.next24.i205, %B528.backedge.i ]
  %lsr.iv21.i183 = phi i64 [ %.16.i167, %B530.preheader.i ], [ %lsr.iv.next22.i204, %B528.backedge.i ]
  %lsr.iv19.i184 = phi i64 [ %.33.i173, %B530.preheader.i ], [ %lsr.iv.next20.i203, %B528.backedge.i ]
  %lsr.iv17.i185 = phi i64 [ %.29.i170, %B530.preheader.i ], [ %lsr.iv.next18.i202, %B528.backedge.i ]
  %lsr.iv.i186 = phi i64 [ %.8.i161, %B530.preheader.i ], [ %lsr.iv.next.i201, %B528.backedge.i ]
  %reached4.3.0333.i = phi i64 [ %const372, %B530.preheader.i ], [ %.13.i16.i, %B528.backedge.i ]
  %reached3.4.0332.i = phi i64 [ %const372, %B530.preheader.i ], [ %reached3.5.1.i, %B528.backedge.i ]
  %reached2.4.0331.i = phi i64 [ %const372, %B530.preheader.i ], [ %reached2.5.1264.i, %B528.backedge.i ]
  %reached1.4.0330.i = phi i64 [ %const372, %B530.preheader.i ], [ %reached1.5.1262.i, %B528.backedge.i ]
  %reached0.4.0329.i = phi i64 [ %const372, %B530.preheader.i ], [ %reached0.5.1266.i, %B528.backedge.i ]
  %group.2.0328.i = phi i64 [ -1, %B530.preheader.i ], [ %group.3.1.i, %B528.backedge.i ]
  %.233.i187 = inttoptr i64 %lsr.iv.i186 to ptr
  %.234.i188 = load i64, ptr %.233.i187, align 1, !noalias !21
  %.240.i = icmp slt i64 %.234.i188, %group.2.0328.i
  %.243.i189 = icmp slt i64 %.234.i188, 0
  %or.cond.i190 = or i1 %.240.i, %.243.i189
  %.247.i191 = icmp sge i64 %.234.i188, %.47.i179
  %or.cond272.i = select i1 %or.cond.i190, i1 true, i1 %.247.i191
  br i1 %or.cond272.i, label %common.ret, label %B616.i

B616.i:                                           ; preds = %B530.i
  %.287.i = inttoptr i64 %lsr.iv17.i185 to ptr
  %.288.i = load i64, ptr %.287.i, align 1, !noalias !21
  %.293.i192 = inttoptr i64 %lsr.iv19.i184 to ptr
  %.294.i193 = load i64, ptr %.293.i192, align 1, !noalias !21
  %.298.i194 = inttoptr i64 %lsr.iv23.i182 to ptr
  %.299.i = load i8, ptr %.298.i194, align 1, !noalias !21
  %44 = zext i8 %.299.i to i32
  %.311.i195 = mul nuw nsw i64 %.234.i188, 48
  %.319.not.i = icmp eq i64 %.234.i188, %group.2.0328.i
  br i1 %.319.not.i, label %B846.i, label %B1060.i

B846.i:                                           ; preds = %B616.i
  %.409.i = icmp sgt i64 %.288.i, %reached4.3.0333.i
  br i1 %.409.i, label %B858.i, label %B1060.i

B858.i:                                           ; preds = %B846.i
  %.435.i = inttoptr i64 %lsr.iv21.i183 to ptr
  %.436.i = load i64, ptr %.435.i, align 1, !noalias !21
  %.441.not.i = icmp eq i64 %.436.i, %const372
  br i1 %.441.not.i, label %B1060.i, label %B922.endif.endif.i

B1060.i:                                          ; preds = %B922.endif.endif.i, %B858.i, %B846.i, %B616.i
  %group.3.1.i = phi i64 [ %group.2.0328.i, %B846.i ], [ %group.2.0328.i, %B922.endif.endif.i ], [ %group.2.0328.i, %B858.i ], [ %.234.i188, %B616.i ]
  %reached0.3.1.i = phi i64 [ %reached0.4.0329.i, %B846.i ], [ %reached0.4.0329.i, %B922.endif.endif.i ], [ %reached0.4.0329.i, %B858.i ], [ %const372, %B616.i ]
  %reached1.3.1.i = phi i64 [ %reached1.4.0330.i, %B846.i ], [ %reached1.4.0330.i, %B922.endif.endif.i ], [ %reached1.4.0330.i, %B858.i ], [ %const372, %B616.i ]
  %reached2.3.1.i = phi i64 [ %reached2.4.0331.i, %B846.i ], [ %reached2.4.0331.i, %B922.endif.endif.i ], [ %reached2.4.0331.i, %B858.i ], [ %const372, %B616.i ]
  %reached3.3.1.i = phi i64 [ %reached3.4.0332.i, %B846.i ], [ %reached3.4.0332.i, %B922.endif.endif.i ], [ %reached3.4.0332.i, %B858.i ], [ %const372, %B616.i ]
  %reached4.4.1.i = phi i64 [ %reached4.3.0333.i, %B846.i ], [ %reached4.3.0333.i, %B922.endif.endif.i ], [ %reached4.3.0333.i, %B858.i ], [ %const372, %B616.i ]
  switch i32 %44, label %B1416.endif.endif.i [
    i32 0, label %B1072.endif.endif.i
    i32 1, label %B1244.endif.endif.i
  ]

B922.endif.endif.i:                               ; preds = %B858.i
  %sunkaddr.i216 = inttoptr i64 %.311.i195 to ptr
  %sunkaddr27.i217 = getelementptr i8, ptr %sunkaddr.i216, i64 %.43.i176
  %sunkaddr28.i218 = getelementptr i8, ptr %sunkaddr27.i217, i64 40
  %.476.i219 = load i64, ptr %sunkaddr28.i218, align 1, !noalias !21
  %.13.i.i220 = tail call i64 @llvm.smin.i64(i64 %.288.i, i64 %.436.i)
  %.510.i = sub nsw i64 %.13.i.i220, %reached4.3.0333.i
  %.13.i6.i = tail call i64 @llvm.smax.i64(i64 %.510.i, i64 0)
  %.541.i = add nsw i64 %.476.i219, %.13.i6.i
  store i64 %.541.i, ptr %sunkaddr28.i218, align 1, !noalias !21
  br label %B1060.i

B1072.endif.endif.i:                              ; preds = %B1060.i
  %sunkaddr398 = inttoptr i64 %.311.i195 to ptr
  %sunkaddr399 = getelementptr i8, ptr %sunkaddr398, i64 %.43.i176
  %.578.i210 = load i64, ptr %sunkaddr399, align 1, !noalias !21
  %.13.i1.i211 = tail call i64 @llvm.smax.i64(i64 %reached0.3.1.i, i64 %.288.i)
  %.610.i212 = sub nsw i64 %.294.i193, %.13.i1.i211
  %.13.i7.i = tail call i64 @llvm.smax.i64(i64 %.610.i212, i64 0)
  %.639.i = add nsw i64 %.578.i210, %.13.i7.i
  store i64 %.639.i, ptr %sunkaddr399, align 1, !noalias !21
  %.13.i8.i = tail call i64 @llvm.smax.i64(i64 %.294.i193, i64 %reached0.3.1.i)
  br label %B1598.endif.endif.i

B1244.endif.endif.i:                              ; preds = %B1060.i
  %sunkaddr400 = inttoptr i64 %.311.i195 to ptr
  %sunkaddr401 = getelementptr i8, ptr %sunkaddr400, i64 %.43.i176
  %sunkaddr402 = getelementptr i8, ptr %sunkaddr401, i64 8
  %.697.i199 = load i64, ptr %sunkaddr402, align 1, !noalias !21
  %.13.i2.i200 = tail call i64 @llvm.smax.i64(i64 %reached1.3.1.i, i64 %.288.i)
  %.729.i = sub nsw i64 %.294.i193, %.13.i2.i200
  %.13.i9.i = tail call i64 @llvm.smax.i64(i64 %.729.i, i64 0)
  %.758.i = add nsw i64 %.697.i199, %.13.i9.i
  store i64 %.758.i, ptr %sunkaddr402, align 1, !noalias !21
  %.13.i10.i = tail call i64 @llvm.smax.i64(i64 %.294.i193, i64 %reached1.3.1.i)
  br label %B1598.endif.endif.i

B1416.endif.endif.i:                              ; preds = %B1060.i
  %sunkaddr403 = inttoptr i64 %.311.i195 to ptr
  %sunkaddr404 = getelementptr i8, ptr %sunkaddr403, i64 %.43.i176
  %sunkaddr405 = getelementptr i8, ptr %sunkaddr404, i64 16
  %.811.i = load i64, ptr %sunkaddr405, align 1, !noalias !21
  %.13.i3.i = tail call i64 @llvm.smax.i64(i64 %reached2.3.1.i, i64 %.288.i)
  %.843.i = sub nsw i64 %.294.i193, %.13.i3.i
  %.13.i11.i = tail call i64 @llvm.smax.i64(i64 %.843.i, i64 0)
  %.872.i = add nsw i64 %.811.i, %.13.i11.i
  store i64 %.872.i, ptr %sunkaddr405, align 1, !noalias !21
  %.13.i12.i = tail call i64 @llvm.smax.i64(i64 %.294.i193, i64 %reached2.3.1.i)
  br label %B528.backedge.i

B1598.endif.endif.i:                              ; preds = %B1244.endif.endif.i, %B1072.endif.endif.i
  %reached1.5.1.ph.i = phi i64 [ %.13.i10.i, %B1244.endif.endif.i ], [ %reached1.3.1.i, %B1072.endif.endif.i ]
  %reached0.5.1.ph.i = phi i64 [ %reached0.3.1.i, %B1244.endif.endif.i ], [ %.13.i8.i, %B1072.endif.endif.i ]
  %45 = inttoptr i64 %.311.i195 to ptr
  %sunkaddr38.i = getelementptr i8, ptr %45, i64 %.43.i176
  %sunkaddr39.i = getelementptr i8, ptr %sunkaddr38.i, i64 24
  %.924.i = load i64, ptr %sunkaddr39.i, align 1, !noalias !21
  %.13.i4.i = tail call i64 @llvm.smax.i64(i64 %reached3.3.1.i, i64 %.288.i)
  %.956.i = sub nsw i64 %.294.i193, %.13.i4.i
  %.13.i13.i = tail call i64 @llvm.smax.i64(i64 %.956.i, i64 0)
  %.985.i = add nsw i64 %.924.i, %.13.i13.i
  store i64 %.985.i, ptr %sunkaddr39.i, align 1, !noalias !21
  %.13.i14.i = tail call i64 @llvm.smax.i64(i64 %.294.i193, i64 %reached3.3.1.i)
  br label %B528.backedge.i

B528.backedge.i:                                  ; preds = %B1598.endif.endif.i, %B1416.endif.endif.i
  %reached0.5.1266.i = phi i64 [ %reached0.5.1.ph.i, %B1598.endif.endif.i ], [ %reached0.3.1.i, %B1416.endif.endif.i ]
  %reached2.5.1264.i = phi i64 [ %reached2.3.1.i, %B1598.endif.endif.i ], [ %.13.i12.i, %B1416.endif.endif.i ]
  %reached1.5.1262.i = phi i64 [ %reached1.5.1.ph.i, %B1598.endif.endif.i ], [ %reached1.3.1.i, %B1416.endif.endif.i ]
  %reached3.5.1.i = phi i64 [ %.13.i14.i, %B1598.endif.endif.i ], [ %reached3.3.1.i, %B1416.endif.endif.i ]
  %46 = inttoptr i64 %.311.i195 to ptr
  %sunkaddr41.i = getelementptr i8, ptr %46, i64 %.43.i176
  %sunkaddr42.i = getelementptr i8, ptr %sunkaddr41.i, i64 32
  %.1057.i = load i64, ptr %sunkaddr42.i, align 1, !noalias !21
  %.13.i5.i = tail call i64 @llvm.smax.i64(i64 %reached4.4.1.i, i64 %.288.i)
  %.1091.i = sub nsw i64 %.294.i193, %.13.i5.i
  %.13.i15.i = tail call i64 @llvm.smax.i64(i64 %.1091.i, i64 0)
  %.1120.i = add nsw i64 %.1057.i, %.13.i15.i
  store i64 %.1120.i, ptr %sunkaddr42.i, align 1, !noalias !21
  %.13.i16.i = tail call i64 @llvm.smax.i64(i64 %.294.i193, i64 %reached4.4.1.i)
  %lsr.iv.next.i201 = add i64 %lsr.iv.i186, 8
  %lsr.iv.next18.i202 = add i64 %lsr.iv17.i185, 8
  %lsr.iv.next20.i203 = add i64 %lsr.iv19.i184, 8
  %lsr.iv.next22.i204 = add i64 %lsr.iv21.i183, 8
  %lsr.iv.next24.i205 = add i64 %lsr.iv23.i182, 1
  %lsr.iv.next26.i206 = add i64 %lsr.iv25.i181, -1
  %exitcond.not.i207 = icmp eq i64 %lsr.iv.next26.i206, 0
  br i1 %exitcond.not.i207, label %common.ret, label %B530.i

common.ret:                                       ; preds = %B528.backedge.i, %B530.i, %B420, %B950.i, %B390, %B1670.us224.i, %B1432.us.i, %B1670.us.i, %B980.endif.i, %B650.endif.i, %B1669.i, %B958.i, %B2320.i, %B1746.i, %B912.i, %B784.i, %B286, %B1758.i, %B1290.i, %B818.i, %B714.i, %B526.i, %B360.i, %B292.i, %B182, %B636.i, %B560.i, %B412.i, %B344.i, %B130, %B906.us.i, %B906.us23.i, %B722.endif.i, %B506.i.prol.loopexit, %B474.endif.i, %B906.i, %B716.i.1, %B410.i, %B348.i
  %storemerge.i.sink = phi i64 [ 0, %B390 ], [ 0, %B420 ], [ 1, %B1432.us.i ], [ 1, %B958.i ], [ 0, %B650.endif.i ], [ 1, %B714.i ], [ 0, %B906.us23.i ], [ 0, %B474.endif.i ], [ 0, %B716.i.1 ], [ 0, %B906.i ], [ 0, %B722.endif.i ], [ 1, %B344.i ], [ 0, %B1669.i ], [ 0, %B506.i.prol.loopexit ], [ 0, %B130 ], [ 1, %B348.i ], [ 0, %B906.us.i ], [ 1, %B530.i ], [ 0, %B182 ], [ 1, %B560.i ], [ 0, %B1670.us.i ], [ 0, %B1758.i ], [ 0, %B980.endif.i ], [ 0, %B950.i ], [ 0, %B2320.i ], [ 1, %B286 ], [ 1, %B360.i ], [ 1, %B410.i ], [ 0, %B1670.us224.i ], [ 0, %B528.backedge.i ], [ 1, %B412.i ], [ 0, %B636.i ], [ 1, %B292.i ], [ 0, %B526.i ], [ 1, %B1290.i ], [ 1, %B818.i ], [ 1, %B1746.i ], [ 1, %B912.i ], [ 1, %B784.i ]
  store i64 %storemerge.i.sink, ptr %retptr, align 8
  ret i32 0
}

declare i64 @llvm.smax.i64(i64, i64)

declare { i64, i1 } @llvm.usub.with.overflow.i64(i64, i64)

declare i64 @llvm.smin.i64(i64, i64)


!0 = !{!1}
!1 = distinct !{!1, !2, !"_ZN9tracelens6derive15ancestry_kernel5amongB3v26B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!2 = distinct !{!2, !"_ZN9tracelens6derive15ancestry_kernel5amongB3v26B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!3 = !{!4}
!4 = distinct !{!4, !5, !"_ZN9tracelens6derive15ancestry_kernel5aboveB3v27B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!5 = distinct !{!5, !"_ZN9tracelens6derive15ancestry_kernel5aboveB3v27B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!6 = !{!7}
!7 = distinct !{!7, !8, !"_ZN9tracelens6derive15ancestry_kernel6chargeB3v28B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!8 = distinct !{!8, !"_ZN9tracelens6derive15ancestry_kernel6chargeB3v28B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!9 = !{!10}
!10 = distinct !{!10, !11, !"_ZN9tracelens6derive15ancestry_kernel12charge_callsB3v29B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!11 = distinct !{!11, !"_ZN9tracelens6derive15ancestry_kernel12charge_callsB3v29B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!12 = !{!13}
!13 = distinct !{!13, !14, !"_ZN9tracelens6derive15ancestry_kernel6placedB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!14 = distinct !{!14, !"_ZN9tracelens6derive15ancestry_kernel6placedB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!15 = !{!16}
!16 = distinct !{!16, !17, !"_ZN9tracelens6derive15ancestry_kernel12charge_nodesB3v33B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!17 = distinct !{!17, !"_ZN9tracelens6derive15ancestry_kernel12charge_nodesB3v33B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!18 = !{!19}
!19 = distinct !{!19, !20, !"_ZN9tracelens6derive15ancestry_kernel6totalsB3v34B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!20 = distinct !{!20, !"_ZN9tracelens6derive15ancestry_kernel6totalsB3v34B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!21 = !{!22}
!22 = distinct !{!22, !23, !"_ZN9tracelens6derive15ancestry_kernel7lengthsB3v35B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!23 = distinct !{!23, !"_ZN9tracelens6derive15ancestry_kernel7lengthsB3v35B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
