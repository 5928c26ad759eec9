; f73e1b61ff9415adca29866902b3d85493fa2fd0b467371484cea3446669daeb


define noundef range(i32 -1, -2) i32 @climb(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0:
  %.10 = inttoptr i64 %arg.state to ptr
  %.11 = load i64, ptr %.10, align 1
  %.8.fr.i = freeze i64 %.11
  %.16 = icmp slt i64 %.8.fr.i, 4
  br i1 %.16, label %B78, label %B108

B78:                                              ; preds = %B0
  %const383 = bitcast i64 -4611686018427387904 to i64
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
  %lsr.iv374 = phi i64 [ %lsr.iv.next375, %B410.i ], [ %..15.i, %B78 ]
  %lsr.iv84.i = phi i64 [ %lsr.iv.next85.i, %B410.i ], [ %0, %B78 ]
  %lsr.iv82.i = phi i64 [ %lsr.iv.next83.i, %B410.i ], [ %.22.i, %B78 ]
  %1 = tail call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %lsr.iv374, i64 1)
  %ov.i = extractvalue { i64, i1 } %1, 1
  br i1 %ov.i, label %B452.i, label %B348.i

B348.i:                                           ; preds = %B346.i
  %.170.i = inttoptr i64 %lsr.iv82.i to ptr
  %.171.i = load i64, ptr %.170.i, align 1, !noalias !0
  %lsr.iv.next85.i = add i64 %lsr.iv84.i, 1
  %lsr.iv.next375 = add nsw i64 %lsr.iv374, -1
  %lsr.iv.next83.i = add i64 %lsr.iv82.i, 8
  %.178.not.i = icmp slt i64 %.171.i, %lsr.iv.next85.i
  br i1 %.178.not.i, label %B410.i, label %common.ret

B410.i:                                           ; preds = %B348.i
  %.181.i = icmp slt i64 %.171.i, 0
  %.184.i = icmp ne i64 %.171.i, %const383
  %or.cond.i = and i1 %.181.i, %.184.i
  br i1 %or.cond.i, label %common.ret, label %B346.i

B452.i:                                           ; preds = %B346.i
  %.214.i = icmp eq i64 %.8.fr.i, 3
  br i1 %.214.i, label %B474.endif.i, label %B722.endif.i

B506.i:                                           ; preds = %B506.i.preheader, %B716.i.1
  %lsr.iv372 = phi i64 [ %13, %B506.i.preheader ], [ %lsr.iv.next373, %B716.i.1 ]
  %lsr.iv = phi i64 [ %12, %B506.i.preheader ], [ %lsr.iv.next, %B716.i.1 ]
  %lsr.iv60.i = phi i64 [ %lsr.iv.next61.i.1, %B716.i.1 ], [ %lsr.iv60.i.unr, %B506.i.preheader ]
  %2 = add i64 %lsr.iv, 8
  %.352.i = inttoptr i64 %2 to ptr
  %.353.i = load i64, ptr %.352.i, align 1, !noalias !0
  %.358.i = icmp sgt i64 %.353.i, -1
  br i1 %.358.i, label %B590.i, label %B716.i

B590.i:                                           ; preds = %B506.i
  %3 = add i64 %lsr.iv372, 8
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
  %.378.i.1 = inttoptr i64 %lsr.iv372 to ptr
  %.379.i.1 = load i64, ptr %.378.i.1, align 1, !noalias !0
  %.380.i.1 = add nsw i64 %.379.i.1, %.371.i.1
  store i64 %.380.i.1, ptr %.370.i.1, align 1, !noalias !0
  br label %B716.i.1

B716.i.1:                                         ; preds = %B590.i.1, %B716.i
  %lsr.iv.next61.i.1 = add nsw i64 %lsr.iv60.i, -2
  %lsr.iv.next = add i64 %lsr.iv, -16
  %lsr.iv.next373 = add i64 %lsr.iv372, -16
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
  %.602.i = icmp eq i64 %found.5.1.i, %const383
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
  %spec.select.i = select i1 %.544.i, i64 0, i64 %const383
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
  %const381 = bitcast i64 -4611686018427387904 to i64
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
  %.183.not.i = icmp eq i64 %.171.i11, %const381
  br i1 %.183.not.i, label %B636.i, label %common.ret

B474.i:                                           ; preds = %B620.i, %B474.i.preheader
  %at.2.1.i = phi i64 [ %.315.i, %B620.i ], [ %.171.i11, %B474.i.preheader ]
  %top.4.1.i = phi i64 [ %top.3.3.i, %B620.i ], [ %const381, %B474.i.preheader ]
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
  %top.2.2.i = phi i64 [ %const381, %B412.i ], [ %top.3.3.i, %B620.i ]
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
  %const380 = bitcast i64 -4611686018427387904 to i64
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
  %.176.not.i = icmp eq i64 %.164.i, %const380
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
  %.55.i = add nsw i64 %arg.state, 160
  %.56.i = inttoptr i64 %.55.i to ptr
  %.57.i = load i64, ptr %.56.i, align 1, !noalias !9
  %.59.i = add nsw i64 %arg.state, 168
  %.60.i = inttoptr i64 %.59.i to ptr
  %.61.i = load i64, ptr %.60.i, align 1, !noalias !9
  %.69.i = add nsw i64 %arg.state, 80
  %.70.i = inttoptr i64 %.69.i to ptr
  %.71.i = load i64, ptr %.70.i, align 1, !noalias !9
  %.73.i = add nsw i64 %arg.state, 88
  %.74.i = inttoptr i64 %.73.i to ptr
  %.75.i = load i64, ptr %.74.i, align 1, !noalias !9
  %.85.i = inttoptr i64 %.71.i to ptr
  %.86.i = load i64, ptr %.85.i, align 1, !noalias !9
  %.92.i = add nsw i64 %.71.i, 8
  %.93.i = inttoptr i64 %.92.i to ptr
  %.94.i = load i64, ptr %.93.i, align 1, !noalias !9
  %.100.i = add nsw i64 %.71.i, 16
  %.101.i = inttoptr i64 %.100.i to ptr
  %.102.i = load i64, ptr %.101.i, align 1, !noalias !9
  %.110.i = add nsw i64 %arg.state, 8
  %.111.i = inttoptr i64 %.110.i to ptr
  %.112.i = load i64, ptr %.111.i, align 1, !noalias !9
  %.195343.not.i = icmp slt i64 %.112.i, 1
  br i1 %.195343.not.i, label %B1856.i, label %B818.lr.ph.i

B818.lr.ph.i:                                     ; preds = %B234
  %.45.i = add nsw i64 %arg.state, 72
  %.46.i = inttoptr i64 %.45.i to ptr
  %.47.i = load i64, ptr %.46.i, align 1, !noalias !9
  %.41.i46 = add nsw i64 %arg.state, 120
  %.42.i47 = inttoptr i64 %.41.i46 to ptr
  %.43.i48 = load i64, ptr %.42.i47, align 1, !noalias !9
  %.6.i31 = add nsw i64 %arg.state, 16
  %.7.i32 = inttoptr i64 %.6.i31 to ptr
  %.8.i33 = load i64, ptr %.7.i32, align 1, !noalias !9
  %.341.i = add i64 %.71.i, 24
  %.467323.i = add nsw i64 %.71.i, 48
  br label %B818.i

B818.i:                                           ; preds = %B1858.i, %B818.lr.ph.i
  %place.3.0349.i = phi i64 [ 0, %B818.lr.ph.i ], [ %place.4.2.i, %B1858.i ]
  %last_end.2.0348.i = phi i64 [ %.102.i, %B818.lr.ph.i ], [ %.252.i, %B1858.i ]
  %last_start.2.0347.i = phi i64 [ %.94.i, %B818.lr.ph.i ], [ %.241.i50, %B1858.i ]
  %n_lanes.2.0346.i = phi i64 [ %.86.i, %B818.lr.ph.i ], [ %n_lanes.3.2.i, %B1858.i ]
  %.201337344.i = phi i64 [ 0, %B818.lr.ph.i ], [ %.208.i49, %B1858.i ]
  %.208.i49 = add nuw nsw i64 %.201337344.i, 1
  %.237.i = shl nsw i64 %.201337344.i, 3
  %.239.i = add nsw i64 %.237.i, %.29.i42
  %.240.i = inttoptr i64 %.239.i to ptr
  %.241.i50 = load i64, ptr %.240.i, align 1, !noalias !9
  %.248.i = add nsw i64 %.237.i, %.33.i45
  %.249.i = inttoptr i64 %.248.i to ptr
  %.250.i = load i64, ptr %.249.i, align 1, !noalias !9
  %.252.i = add nsw i64 %.250.i, %.241.i50
  %.258.i = icmp slt i64 %.241.i50, %last_start.2.0347.i
  br i1 %.258.i, label %common.ret, label %B922.i

B922.i:                                           ; preds = %B818.i
  %.262.i = icmp eq i64 %.241.i50, %last_start.2.0347.i
  %.268.i = icmp sgt i64 %.252.i, %last_end.2.0348.i
  %or.cond.i51 = select i1 %.262.i, i1 %.268.i, i1 false
  br i1 %or.cond.i51, label %common.ret, label %B952.i

B952.i:                                           ; preds = %B922.i
  %sunkaddr = inttoptr i64 %.43.i48 to ptr
  %sunkaddr384 = mul i64 %.201337344.i, 8
  %sunkaddr385 = getelementptr i8, ptr %sunkaddr, i64 %sunkaddr384
  %.327.i = load i64, ptr %sunkaddr385, align 1, !noalias !9
  %sunkaddr386 = inttoptr i64 %.47.i to ptr
  %sunkaddr387 = mul i64 %.201337344.i, 8
  %sunkaddr388 = getelementptr i8, ptr %sunkaddr386, i64 %sunkaddr387
  %.333.i = load i64, ptr %sunkaddr388, align 1, !noalias !9
  %.343.i = mul nsw i64 %place.3.0349.i, 24
  %.344.i = add nsw i64 %.343.i, %.341.i
  %.350.not.i = icmp slt i64 %place.3.0349.i, %n_lanes.2.0346.i
  br i1 %.350.not.i, label %B1078.i, label %B1160.i

B1078.i:                                          ; preds = %B952.i
  %.353.i55 = inttoptr i64 %.344.i to ptr
  %.354.i = load i64, ptr %.353.i55, align 1, !noalias !9
  %.356.not.i = icmp eq i64 %.354.i, %.327.i
  br i1 %.356.not.i, label %B1116.i, label %B1160.i

B1116.i:                                          ; preds = %B1078.i
  %.373.i = add nsw i64 %.344.i, 8
  %.376.i = inttoptr i64 %.373.i to ptr
  %.377.i = load i64, ptr %.376.i, align 1, !noalias !9
  %.379.not.i = icmp eq i64 %.377.i, %.333.i
  br i1 %.379.not.i, label %B1530.endif.i, label %B1160.i

B1160.i:                                          ; preds = %B1116.i, %B1078.i, %B952.i
  %.409.i = icmp sgt i64 %n_lanes.2.0346.i, 0
  br i1 %.409.i, label %B1186.i, label %B1382.i

B1186.i:                                          ; preds = %B1160.i
  %23 = inttoptr i64 %.341.i to ptr
  %.425.i = load i64, ptr %23, align 1, !noalias !9
  %.427.not.i = icmp eq i64 %.425.i, %.327.i
  br i1 %.427.not.i, label %B1224.i, label %B1268.preheader.i

B1224.i:                                          ; preds = %B1186.i
  %sunkaddr389 = inttoptr i64 %.71.i to ptr
  %sunkaddr390 = getelementptr i8, ptr %sunkaddr389, i64 32
  %.448.i = load i64, ptr %sunkaddr390, align 1, !noalias !9
  %.450.not.i = icmp eq i64 %.448.i, %.333.i
  br i1 %.450.not.i, label %B1382.i, label %B1268.preheader.i

B1268.preheader.i:                                ; preds = %B1224.i, %B1186.i
  %.478324.not.i = icmp eq i64 %n_lanes.2.0346.i, 1
  br i1 %.478324.not.i, label %B1382.i, label %B1300.preheader.i

B1300.preheader.i:                                ; preds = %B1268.preheader.i
  %24 = mul i64 %n_lanes.2.0346.i, 24
  %25 = add i64 %24, %.341.i
  br label %B1300.i

B1300.i:                                          ; preds = %B1857.i, %B1300.preheader.i
  %.467327.i = phi i64 [ %.467.i, %B1857.i ], [ %.467323.i, %B1300.preheader.i ]
  %.457326.i = phi i64 [ %.457.i, %B1857.i ], [ 1, %B1300.preheader.i ]
  %.485.i = inttoptr i64 %.467327.i to ptr
  %.486.i = load i64, ptr %.485.i, align 1, !noalias !9
  %.488.not.i = icmp eq i64 %.486.i, %.327.i
  br i1 %.488.not.i, label %B1338.i, label %B1857.i

B1338.i:                                          ; preds = %B1300.i
  %26 = add i64 %.467327.i, 8
  %.498.i = inttoptr i64 %26 to ptr
  %.499.i = load i64, ptr %.498.i, align 1, !noalias !9
  %.501.not.i = icmp eq i64 %.499.i, %.333.i
  br i1 %.501.not.i, label %B1382.i, label %B1857.i

B1382.i:                                          ; preds = %B1338.i, %B1268.preheader.i, %B1224.i, %B1160.i
  %place.5.2.i = phi i64 [ 0, %B1224.i ], [ 0, %B1160.i ], [ 1, %B1268.preheader.i ], [ %.457326.i, %B1338.i ]
  %slot.4.2.i = phi i64 [ %.341.i, %B1224.i ], [ %.341.i, %B1160.i ], [ %.467323.i, %B1268.preheader.i ], [ %.467327.i, %B1338.i ]
  %.526.i = icmp eq i64 %place.5.2.i, %n_lanes.2.0346.i
  br i1 %.526.i, label %B1394.i, label %B1530.endif.i

B1394.i:                                          ; preds = %B1857.i, %B1382.i
  %slot.4.222.i = phi i64 [ %slot.4.2.i, %B1382.i ], [ %25, %B1857.i ]
  %.536.i53 = icmp eq i64 %n_lanes.2.0346.i, %.75.i
  br i1 %.536.i53, label %common.ret, label %B1412.i

B1412.i:                                          ; preds = %B1394.i
  %.593.i = add nsw i64 %n_lanes.2.0346.i, 1
  %.600.i = inttoptr i64 %slot.4.222.i to ptr
  store i64 %.327.i, ptr %.600.i, align 1, !noalias !9
  %.605.i = add nsw i64 %slot.4.222.i, 8
  %.607.i = inttoptr i64 %.605.i to ptr
  store i64 %.333.i, ptr %.607.i, align 1, !noalias !9
  %.612.i = add nsw i64 %slot.4.222.i, 16
  %.616.i = inttoptr i64 %.612.i to ptr
  store i64 %.241.i50, ptr %.616.i, align 1, !noalias !9
  br label %B1530.endif.i

B1856.i:                                          ; preds = %B1858.i, %B234
  %n_lanes.2.0.lcssa.i = phi i64 [ %.86.i, %B234 ], [ %n_lanes.3.2.i, %B1858.i ]
  %last_start.2.0.lcssa.i = phi i64 [ %.94.i, %B234 ], [ %.241.i50, %B1858.i ]
  %last_end.2.0.lcssa.i = phi i64 [ %.102.i, %B234 ], [ %.252.i, %B1858.i ]
  %27 = inttoptr i64 %.71.i to ptr
  store i64 %n_lanes.2.0.lcssa.i, ptr %27, align 1, !noalias !9
  %sunkaddr67.i = getelementptr i8, ptr %27, i64 8
  store i64 %last_start.2.0.lcssa.i, ptr %sunkaddr67.i, align 1, !noalias !9
  %sunkaddr69.i = getelementptr i8, ptr %27, i64 16
  store i64 %last_end.2.0.lcssa.i, ptr %sunkaddr69.i, align 1, !noalias !9
  br label %common.ret

B1857.i:                                          ; preds = %B1338.i, %B1300.i
  %.457.i = add i64 %.457326.i, 1
  %.467.i = add nsw i64 %.467327.i, 24
  %exitcond.not.i54 = icmp eq i64 %n_lanes.2.0346.i, %.457.i
  br i1 %exitcond.not.i54, label %B1394.i, label %B1300.i

B1858.i:                                          ; preds = %B1702.endif.endif.i, %B1530.endif.endif.i, %B16.i.i
  %exitcond379.not.i = icmp eq i64 %.208.i49, %.112.i
  br i1 %exitcond379.not.i, label %B1856.i, label %B818.i

B1530.endif.i:                                    ; preds = %B1412.i, %B1382.i, %B1116.i
  %n_lanes.3.2.i = phi i64 [ %.593.i, %B1412.i ], [ %n_lanes.2.0346.i, %B1382.i ], [ %n_lanes.2.0346.i, %B1116.i ]
  %place.4.2.i = phi i64 [ %n_lanes.2.0346.i, %B1412.i ], [ %place.5.2.i, %B1382.i ], [ %place.3.0349.i, %B1116.i ]
  %slot.5.2.i = phi i64 [ %slot.4.222.i, %B1412.i ], [ %slot.4.2.i, %B1382.i ], [ %.344.i, %B1116.i ]
  %28 = icmp eq i64 %.57.i, 0
  %.630.i = add nsw i64 %slot.5.2.i, 16
  %.631.i = inttoptr i64 %.630.i to ptr
  %.632.i = load i64, ptr %.631.i, align 1, !noalias !9
  %.13.i.i = tail call i64 @llvm.smax.i64(i64 %.632.i, i64 %.252.i)
  store i64 %.13.i.i, ptr %.631.i, align 1, !noalias !9
  br i1 %28, label %B1530.endif.endif.i, label %B16.i.i

B16.i.i:                                          ; preds = %B1530.endif.i
  %.21.i.i = add nsw i64 %.201337344.i, %.61.i
  %.24.i.i = ashr i64 %.21.i.i, 3
  %.26.i.i = add nsw i64 %.24.i.i, %.57.i
  %.29.i.i = inttoptr i64 %.26.i.i to ptr
  %.30.i.i = load i8, ptr %.29.i.i, align 1, !noalias !12
  %.31.i.i = zext i8 %.30.i.i to i64
  %.32.i.i = and i64 %.21.i.i, 7
  %29 = shl nuw nsw i64 1, %.32.i.i
  %30 = and i64 %29, %.31.i.i
  %.35.i.i = icmp eq i64 %30, 0
  br i1 %.35.i.i, label %B1858.i, label %B1530.endif.endif.i

B1530.endif.endif.i:                              ; preds = %B16.i.i, %B1530.endif.i
  %sunkaddr391 = inttoptr i64 %.8.i33 to ptr
  %sunkaddr392 = mul i64 %.201337344.i, 8
  %sunkaddr393 = getelementptr i8, ptr %sunkaddr391, i64 %sunkaddr392
  %.56.i.i = load i64, ptr %sunkaddr393, align 1, !noalias !12
  %.707.i = icmp sgt i64 %.56.i.i, -1
  %.715.i = icmp slt i64 %.56.i.i, %.16.i39
  %or.cond298.i = select i1 %.707.i, i1 %.715.i, i1 false
  br i1 %or.cond298.i, label %B1702.endif.endif.i, label %B1858.i

B1702.endif.endif.i:                              ; preds = %B1530.endif.endif.i
  %.732.i = shl nsw i64 %.56.i.i, 3
  %.734.i = add nsw i64 %.732.i, %.12.i36
  %.741.i = inttoptr i64 %.734.i to ptr
  %.742.i = load i64, ptr %.741.i, align 1, !noalias !9
  %.13.i1.i = tail call i64 @llvm.smax.i64(i64 %.632.i, i64 %.241.i50)
  %.778.i = sub nsw i64 %.252.i, %.13.i1.i
  %.13.i2.i = tail call i64 @llvm.smax.i64(i64 %.778.i, i64 0)
  %.809.i = add nsw i64 %.742.i, %.13.i2.i
  store i64 %.809.i, ptr %.741.i, align 1, !noalias !9
  br label %B1858.i

B286:                                             ; preds = %B108
  %.9.i = add nsw i64 %arg.state, 16
  %.10.i56 = inttoptr i64 %.9.i to ptr
  %.11.i57 = load i64, ptr %.10.i56, align 1, !noalias !15
  %.14.i58 = add nsw i64 %arg.state, 72
  %.15.i59 = inttoptr i64 %.14.i58 to ptr
  %.16.i60 = load i64, ptr %.15.i59, align 1, !noalias !15
  %.19.i = add nsw i64 %arg.state, 96
  %.20.i61 = inttoptr i64 %.19.i to ptr
  %.21.i62 = load i64, ptr %.20.i61, align 1, !noalias !15
  %.33.i63 = add nsw i64 %arg.state, 160
  %.34.i64 = inttoptr i64 %.33.i63 to ptr
  %.35.i65 = load i64, ptr %.34.i64, align 1, !noalias !15
  %.38.i = add nsw i64 %arg.state, 168
  %.39.i = inttoptr i64 %.38.i to ptr
  %.40.i = load i64, ptr %.39.i, align 1, !noalias !15
  %.49.i = add nsw i64 %arg.state, 120
  %.50.i = inttoptr i64 %.49.i to ptr
  %.51.i = load i64, ptr %.50.i, align 1, !noalias !15
  %.54.i = add nsw i64 %arg.state, 176
  %.55.i66 = inttoptr i64 %.54.i to ptr
  %.56.i67 = load i64, ptr %.55.i66, align 1, !noalias !15
  %.59.i68 = add nsw i64 %arg.state, 184
  %.60.i69 = inttoptr i64 %.59.i68 to ptr
  %.61.i70 = load i64, ptr %.60.i69, align 1, !noalias !15
  %.73.i71 = add nsw i64 %arg.state, 128
  %.74.i72 = inttoptr i64 %.73.i71 to ptr
  %.75.i73 = load i64, ptr %.74.i72, align 1, !noalias !15
  %.78.i = add nsw i64 %arg.state, 192
  %.79.i = inttoptr i64 %.78.i to ptr
  %.80.i = load i64, ptr %.79.i, align 1, !noalias !15
  %.83.i = add nsw i64 %arg.state, 200
  %.84.i = inttoptr i64 %.83.i to ptr
  %.85.i74 = load i64, ptr %.84.i, align 1, !noalias !15
  %.97.i = add nsw i64 %arg.state, 144
  %.98.i = inttoptr i64 %.97.i to ptr
  %.99.i = load i64, ptr %.98.i, align 1, !noalias !15
  %.102.i75 = add nsw i64 %arg.state, 136
  %.103.i = inttoptr i64 %.102.i75 to ptr
  %.104.i = load i64, ptr %.103.i, align 1, !noalias !15
  %.107.i = add nsw i64 %arg.state, 80
  %.108.i = inttoptr i64 %.107.i to ptr
  %.109.i = load i64, ptr %.108.i, align 1, !noalias !15
  %.129.i = add nsw i64 %arg.state, 8
  %.130.i = inttoptr i64 %.129.i to ptr
  %.131.i = load i64, ptr %.130.i, align 1, !noalias !15
  %.137.i = add nsw i64 %.131.i, %.21.i62
  %.140.i = add nsw i64 %arg.state, 152
  %.141.i = inttoptr i64 %.140.i to ptr
  %.142.i = load i64, ptr %.141.i, align 1, !noalias !15
  %.143.i = icmp sgt i64 %.137.i, %.142.i
  br i1 %.143.i, label %common.ret, label %B906.endif.i

B940.i:                                           ; preds = %B940.i.preheader, %B2438.i
  %n_nodes.2.0388.i = phi i64 [ %n_nodes.3.1.i, %B2438.i ], [ %.123.i, %B940.i.preheader ]
  %.278381386.i = phi i64 [ %.285.i, %B2438.i ], [ 0, %B940.i.preheader ]
  %31 = icmp eq i64 %.35.i65, 0
  %.285.i = add nuw nsw i64 %.278381386.i, 1
  %.311.i76 = add nsw i64 %.278381386.i, %.21.i62
  br i1 %31, label %B108.i.i, label %B16.i.i77

B16.i.i77:                                        ; preds = %B940.i
  %.21.i.i78 = add nsw i64 %.278381386.i, %.40.i
  %.24.i.i79 = ashr i64 %.21.i.i78, 3
  %.26.i.i80 = add nsw i64 %.24.i.i79, %.35.i65
  %.29.i.i81 = inttoptr i64 %.26.i.i80 to ptr
  %.30.i.i82 = load i8, ptr %.29.i.i81, align 1, !noalias !18
  %.31.i.i83 = zext i8 %.30.i.i82 to i64
  %.32.i.i84 = and i64 %.21.i.i78, 7
  %32 = shl nuw nsw i64 1, %.32.i.i84
  %33 = and i64 %32, %.31.i.i83
  %.35.i.i85 = icmp eq i64 %33, 0
  br i1 %.35.i.i85, label %B16.i.B940.endif_crit_edge.i, label %B108.i.i

B16.i.B940.endif_crit_edge.i:                     ; preds = %B16.i.i77
  %.pre.i = shl nsw i64 %.278381386.i, 3
  br label %B940.endif.i

B108.i.i:                                         ; preds = %B16.i.i77, %B940.i
  %.48.i.i = shl nsw i64 %.278381386.i, 3
  %.52.i.i = add nsw i64 %.48.i.i, %.11.i57
  %.55.i.i = inttoptr i64 %.52.i.i to ptr
  %.56.i.i86 = load i64, ptr %.55.i.i, align 1, !noalias !18
  br label %B940.endif.i

B1134.i:                                          ; preds = %B940.endif.i
  %.377.i90 = icmp slt i64 %storemerge.i.i, 0
  %.380.i91 = icmp ne i64 %storemerge.i.i, %const379
  %or.cond353.i = and i1 %.377.i90, %.380.i91
  br i1 %or.cond353.i, label %common.ret, label %B1174.i

B1174.i:                                          ; preds = %B1134.i
  %.428.i = icmp sle i64 %.61.i70, %.351.i
  %.432.i = icmp sle i64 %.85.i74, %.357.i
  %or.cond354.i = select i1 %.428.i, i1 true, i1 %.432.i
  br i1 %or.cond354.i, label %common.ret, label %B1204.i

B1204.i:                                          ; preds = %B1174.i
  %.482.i = icmp sgt i64 %storemerge.i.i, -1
  br i1 %.482.i, label %B1220.i, label %B1262.i

B1220.i:                                          ; preds = %B1204.i
  %.485.i102 = shl nsw i64 %storemerge.i.i, 2
  %.489.i = add nsw i64 %.485.i102, %.99.i
  %.490.i = inttoptr i64 %.489.i to ptr
  %.491.i = load i32, ptr %.490.i, align 1, !noalias !15
  %.492.i = zext i32 %.491.i to i64
  br label %B1262.i

B1262.i:                                          ; preds = %B1220.i, %B1204.i
  %found.4.1.i = phi i64 [ %.492.i, %B1220.i ], [ 0, %B1204.i ]
  %.499.i92 = shl nuw nsw i64 %.357.i, 3
  %.503.i = add nsw i64 %.499.i92, %.80.i
  %.504.i = inttoptr i64 %.503.i to ptr
  %.505.i = load i64, ptr %.504.i, align 1, !noalias !15
  %.510.i = and i64 %.505.i, 1
  %.511.not.i = icmp eq i64 %.510.i, 0
  br i1 %.511.not.i, label %B2390.i, label %B1334.i

B1334.i:                                          ; preds = %B1262.i
  %34 = inttoptr i64 %.109.i to ptr
  %.514.i = lshr i64 %found.4.1.i, 2
  %.521.i = shl nuw nsw i64 %.351.i, 3
  %.525.i = add nsw i64 %.521.i, %.56.i67
  %.526.i93 = inttoptr i64 %.525.i to ptr
  %.527.i = load i64, ptr %.526.i93, align 1, !noalias !15
  %sunkaddr394 = inttoptr i64 %arg.state to ptr
  %sunkaddr395 = getelementptr i8, ptr %sunkaddr394, i64 88
  %.535.i95 = load i64, ptr %sunkaddr395, align 1, !noalias !15
  %.536.i96 = add nsw i64 %.535.i95, -1
  %const_mat = add i64 %const, 407613254
  %.541.i = mul nuw nsw i64 %.514.i, %const_mat
  %.543.i = mul i64 %.527.i, %const
  %.544.i97 = add i64 %.543.i, %.541.i
  %.545.i = ashr i64 %.544.i97, 15
  %.546.i = xor i64 %.545.i, %.544.i97
  %.548.i = and i64 %.546.i, %.536.i96
  %sunkaddr19.i = shl i64 %.548.i, 3
  %sunkaddr20.i = getelementptr i8, ptr %34, i64 %sunkaddr19.i
  %sunkaddr21.i = getelementptr i8, ptr %sunkaddr20.i, i64 8
  %.562.i = load i64, ptr %sunkaddr21.i, align 1, !noalias !15
  %.572.i = mul nsw i64 %.562.i, 40
  %.574.i = add nsw i64 %.572.i, %.104.i
  %.583.not.i = icmp eq i64 %.562.i, 0
  br i1 %.583.not.i, label %B2026.i, label %B1656.i

B1656.i:                                          ; preds = %B1334.i
  %.598.i = inttoptr i64 %.574.i to ptr
  %.599.i = load i64, ptr %.598.i, align 1, !noalias !15
  %.601.not.i = icmp eq i64 %.599.i, %.527.i
  br i1 %.601.not.i, label %B1716.i, label %B1776.preheader.i

B1716.i:                                          ; preds = %B1656.i
  %.621.i101 = add nsw i64 %.574.i, 8
  %.624.i = inttoptr i64 %.621.i101 to ptr
  %.625.i = load i64, ptr %.624.i, align 1, !noalias !15
  %.627.not.i = icmp eq i64 %.625.i, %.514.i
  br i1 %.627.not.i, label %B2264.i, label %B1776.preheader.i

B1776.preheader.i:                                ; preds = %B1716.i, %B1656.i
  %35 = inttoptr i64 %.109.i to ptr
  %.636365.i = add nsw i64 %.548.i, 1
  %.640366.i = and i64 %.636365.i, %.536.i96
  %sunkaddr23.i = shl i64 %.640366.i, 3
  %sunkaddr24.i = getelementptr i8, ptr %35, i64 %sunkaddr23.i
  %sunkaddr25.i = getelementptr i8, ptr %sunkaddr24.i, i64 8
  %.653370.i = load i64, ptr %sunkaddr25.i, align 1, !noalias !15
  %.672.not373.i = icmp eq i64 %.653370.i, 0
  br i1 %.672.not373.i, label %B2026.i, label %B1894.i.preheader

B1894.i.preheader:                                ; preds = %B1776.preheader.i
  br label %B1894.i

B1894.i:                                          ; preds = %B2487.i, %B1894.i.preheader
  %.653375.i = phi i64 [ %.653.i, %B2487.i ], [ %.653370.i, %B1894.i.preheader ]
  %.640374.i = phi i64 [ %.640.i, %B2487.i ], [ %.640366.i, %B1894.i.preheader ]
  %.662.pn.i = mul nsw i64 %.653375.i, 40
  %.664376.i = add nsw i64 %.662.pn.i, %.104.i
  %.683.i = inttoptr i64 %.664376.i to ptr
  %.684.i = load i64, ptr %.683.i, align 1, !noalias !15
  %.686.not.i = icmp eq i64 %.684.i, %.527.i
  br i1 %.686.not.i, label %B1954.i, label %B2487.i

B1954.i:                                          ; preds = %B1894.i
  %.701.i = add nsw i64 %.664376.i, 8
  %.704.i = inttoptr i64 %.701.i to ptr
  %.705.i = load i64, ptr %.704.i, align 1, !noalias !15
  %.707.not.i = icmp eq i64 %.705.i, %.514.i
  br i1 %.707.not.i, label %B2264.i, label %B2487.i

B2026.i:                                          ; preds = %B2487.i, %B1776.preheader.i, %B1334.i
  %slot.3.1.ph.i = phi i64 [ %.548.i, %B1334.i ], [ %.640366.i, %B1776.preheader.i ], [ %.640.i, %B2487.i ]
  %.749.i = shl nsw i64 %n_nodes.2.0388.i, 1
  %.751.not.i = icmp slt i64 %.749.i, %.535.i95
  br i1 %.751.not.i, label %B2050.i, label %common.ret

B2050.i:                                          ; preds = %B2026.i
  %36 = inttoptr i64 %.109.i to ptr
  %.805.i = add nsw i64 %n_nodes.2.0388.i, 1
  %sunkaddr27.i = shl i64 %slot.3.1.ph.i, 3
  %sunkaddr28.i = getelementptr i8, ptr %36, i64 %sunkaddr27.i
  %sunkaddr29.i = getelementptr i8, ptr %sunkaddr28.i, i64 8
  store i64 %n_nodes.2.0388.i, ptr %sunkaddr29.i, align 1, !noalias !15
  %.820.i = mul nsw i64 %n_nodes.2.0388.i, 40
  %.822.i = add nsw i64 %.820.i, %.104.i
  %.828.i = inttoptr i64 %.822.i to ptr
  store i64 %.527.i, ptr %.828.i, align 1, !noalias !15
  %.833.i = add nsw i64 %.822.i, 8
  %.835.i = inttoptr i64 %.833.i to ptr
  store i64 %.514.i, ptr %.835.i, align 1, !noalias !15
  br label %B2264.i

B2264.i:                                          ; preds = %B2050.i, %B1954.i, %B1716.i
  %n_nodes.4.1.i = phi i64 [ %.805.i, %B2050.i ], [ %n_nodes.2.0388.i, %B1716.i ], [ %n_nodes.2.0388.i, %B1954.i ]
  %node.4.1.i = phi i64 [ %n_nodes.2.0388.i, %B2050.i ], [ %.562.i, %B1716.i ], [ %.653375.i, %B1954.i ]
  %at.3.1.i = phi i64 [ %.822.i, %B2050.i ], [ %.574.i, %B1716.i ], [ %.664376.i, %B1954.i ]
  %.858.i = add nsw i64 %at.3.1.i, 16
  %.864.i = inttoptr i64 %.858.i to ptr
  %.865.i = load i64, ptr %.864.i, align 1, !noalias !15
  %.866.i = add nsw i64 %.865.i, 1
  store i64 %.866.i, ptr %.864.i, align 1, !noalias !15
  %.870.i = shl i64 %node.4.1.i, 2
  %.874.i = or i64 %.870.i, %.505.i
  br label %B2438.i

B2390.i:                                          ; preds = %B1262.i
  %const_mat378 = add i64 %const, 2048144785
  %.893.i = add i64 %.505.i, %const_mat378
  %.895.i = and i64 %.893.i, %found.4.1.i
  br label %B2438.i

B2438.i:                                          ; preds = %B2390.i, %B2264.i
  %n_nodes.3.1.i = phi i64 [ %n_nodes.4.1.i, %B2264.i ], [ %n_nodes.2.0388.i, %B2390.i ]
  %found.5.1.i99 = phi i64 [ %.874.i, %B2264.i ], [ %.895.i, %B2390.i ]
  %.907.i = shl nsw i64 %.311.i76, 2
  %.911.i = add nsw i64 %.907.i, %.99.i
  %.913.i = trunc i64 %found.5.1.i99 to i32
  %.914.i = inttoptr i64 %.911.i to ptr
  store i32 %.913.i, ptr %.914.i, align 1, !noalias !15
  %exitcond.not.i100 = icmp eq i64 %.285.i, %.131.i
  br i1 %exitcond.not.i100, label %B2486.i, label %B940.i

B2486.i:                                          ; preds = %B906.endif.i, %B2438.i
  %n_nodes.2.0.lcssa.i = phi i64 [ %.123.i, %B906.endif.i ], [ %n_nodes.3.1.i, %B2438.i ]
  %37 = inttoptr i64 %.109.i to ptr
  store i64 %n_nodes.2.0.lcssa.i, ptr %37, align 1, !noalias !15
  br label %common.ret

B2487.i:                                          ; preds = %B1954.i, %B1894.i
  %38 = inttoptr i64 %.109.i to ptr
  %.636.i = add nsw i64 %.640374.i, 1
  %.640.i = and i64 %.636.i, %.536.i96
  %sunkaddr31.i = shl i64 %.640.i, 3
  %sunkaddr32.i = getelementptr i8, ptr %38, i64 %sunkaddr31.i
  %sunkaddr33.i = getelementptr i8, ptr %sunkaddr32.i, i64 8
  %.653.i = load i64, ptr %sunkaddr33.i, align 1, !noalias !15
  %.672.not.i = icmp eq i64 %.653.i, 0
  br i1 %.672.not.i, label %B2026.i, label %B1894.i

B906.endif.i:                                     ; preds = %B286
  %39 = inttoptr i64 %.109.i to ptr
  %.123.i = load i64, ptr %39, align 1, !noalias !15
  %.272385.not.i = icmp slt i64 %.131.i, 1
  br i1 %.272385.not.i, label %B2486.i, label %B940.i.preheader

B940.i.preheader:                                 ; preds = %B906.endif.i
  %const379 = bitcast i64 -4611686018427387904 to i64
  %const = bitcast i64 2246822507 to i64
  br label %B940.i

B940.endif.i:                                     ; preds = %B108.i.i, %B16.i.B940.endif_crit_edge.i
  %.364.pre-phi.i = phi i64 [ %.pre.i, %B16.i.B940.endif_crit_edge.i ], [ %.48.i.i, %B108.i.i ]
  %storemerge.i.i = phi i64 [ %const379, %B16.i.B940.endif_crit_edge.i ], [ %.56.i.i86, %B108.i.i ]
  %.346.i = shl nsw i64 %.278381386.i, 2
  %.348.i = add nsw i64 %.346.i, %.51.i
  %.349.i = inttoptr i64 %.348.i to ptr
  %.350.i = load i32, ptr %.349.i, align 1, !noalias !15
  %.351.i = zext i32 %.350.i to i64
  %.354.i87 = add nsw i64 %.346.i, %.75.i73
  %.355.i = inttoptr i64 %.354.i87 to ptr
  %.356.i = load i32, ptr %.355.i, align 1, !noalias !15
  %.357.i = zext i32 %.356.i to i64
  %.366.i = add nsw i64 %.364.pre-phi.i, %.16.i60
  %.367.i = inttoptr i64 %.366.i to ptr
  %.368.i = load i64, ptr %.367.i, align 1, !noalias !15
  %.370.i88 = icmp ne i64 %.368.i, %.311.i76
  %.374.i = icmp sge i64 %storemerge.i.i, %.311.i76
  %or.cond.i89 = select i1 %.370.i88, i1 true, i1 %.374.i
  br i1 %or.cond.i89, label %common.ret, label %B1134.i

B316:                                             ; preds = %B108
  %.193 = icmp samesign ult i64 %.8.fr.i, 11
  br i1 %.193, label %B338, label %B368

B338:                                             ; preds = %B316
  %.14.i105 = add nsw i64 %arg.state, 96
  %.15.i106 = inttoptr i64 %.14.i105 to ptr
  %.16.i107 = load i64, ptr %.15.i106, align 1, !noalias !21
  %.19.i108 = add nsw i64 %arg.state, 8
  %.20.i109 = inttoptr i64 %.19.i108 to ptr
  %.21.i110 = load i64, ptr %.20.i109, align 1, !noalias !21
  %.33.i111 = add nsw i64 %arg.state, 16
  %.34.i112 = inttoptr i64 %.33.i111 to ptr
  %.35.i113 = load i64, ptr %.34.i112, align 1, !noalias !21
  %.38.i114 = add nsw i64 %arg.state, 32
  %.39.i115 = inttoptr i64 %.38.i114 to ptr
  %.40.i116 = load i64, ptr %.39.i115, align 1, !noalias !21
  %.43.i117 = add nsw i64 %arg.state, 136
  %.44.i = inttoptr i64 %.43.i117 to ptr
  %.45.i118 = load i64, ptr %.44.i, align 1, !noalias !21
  %.57.i119 = add nsw i64 %arg.state, 144
  %.58.i = inttoptr i64 %.57.i119 to ptr
  %.59.i120 = load i64, ptr %.58.i, align 1, !noalias !21
  %.62.i = add nsw i64 %arg.state, 152
  %.63.i = inttoptr i64 %.62.i to ptr
  %.64.i = load i64, ptr %.63.i, align 1, !noalias !21
  %.73.i121 = add nsw i64 %arg.state, 56
  %.74.i122 = inttoptr i64 %.73.i121 to ptr
  %.75.i123 = load i64, ptr %.74.i122, align 1, !noalias !21
  %.81.i = add nsw i64 %arg.state, 80
  %.82.i = inttoptr i64 %.81.i to ptr
  %.83.i124 = load i64, ptr %.82.i, align 1, !noalias !21
  %.86.i125 = add nsw i64 %arg.state, 40
  %.87.i = inttoptr i64 %.86.i125 to ptr
  %.88.i = load i64, ptr %.87.i, align 1, !noalias !21
  %.91.i = add nsw i64 %arg.state, 48
  %.92.i126 = inttoptr i64 %.91.i to ptr
  %.93.i127 = load i64, ptr %.92.i126, align 1, !noalias !21
  %.104.i128 = icmp eq i64 %.8.fr.i, 8
  br i1 %.104.i128, label %B650.endif.i, label %B1056.i

B786.i:                                           ; preds = %B786.i.preheader, %B1768.i
  %lsr.iv30.i = phi i64 [ %lsr.iv.next31.i, %B1768.i ], [ %.21.i110, %B786.i.preheader ]
  %lsr.iv28.i = phi i64 [ %lsr.iv.next29.i, %B1768.i ], [ %.129.i135, %B786.i.preheader ]
  %lsr.iv26.i = phi i64 [ %lsr.iv.next27.i, %B1768.i ], [ %.35.i113, %B786.i.preheader ]
  %lsr.iv24.i = phi i64 [ %lsr.iv.next25.i, %B1768.i ], [ %.40.i116, %B786.i.preheader ]
  %.24.i.i136 = ashr i64 %lsr.iv28.i, 3
  %.26.i.i137 = add nsw i64 %.24.i.i136, %.122.i134
  %.29.i.i138 = inttoptr i64 %.26.i.i137 to ptr
  %.30.i.i139 = load i8, ptr %.29.i.i138, align 1, !noalias !24
  %.31.i.i140 = zext i8 %.30.i.i139 to i64
  %.32.i.i141 = and i64 %lsr.iv28.i, 7
  %40 = shl nuw nsw i64 1, %.32.i.i141
  %41 = and i64 %40, %.31.i.i140
  %.35.i.i142 = icmp eq i64 %41, 0
  br i1 %.35.i.i142, label %B1768.i, label %B786.endif.i

B856.i:                                           ; preds = %B786.endif.i
  %.315.i146 = shl nsw i64 %.56.i.i144, 2
  %.319.i = add nsw i64 %.315.i146, %.59.i120
  %.320.i = inttoptr i64 %.319.i to ptr
  %.321.i = load i32, ptr %.320.i, align 1, !noalias !21
  %promoted = zext i32 %.321.i to i64
  %42 = lshr i64 %promoted, 2
  %.325.i = mul nuw nsw i64 %42, 40
  %sunkaddr396 = inttoptr i64 %.45.i118 to ptr
  %sunkaddr397 = getelementptr i8, ptr %sunkaddr396, i64 %.325.i
  %sunkaddr398 = getelementptr i8, ptr %sunkaddr397, i64 32
  %.330.i = load i64, ptr %sunkaddr398, align 1, !noalias !21
  %.337.i = inttoptr i64 %lsr.iv24.i to ptr
  %.338.i = load i64, ptr %.337.i, align 1, !noalias !21
  %.339.i = add nsw i64 %.338.i, %.330.i
  store i64 %.339.i, ptr %sunkaddr398, align 1, !noalias !21
  br label %B1768.i

B1056.i:                                          ; preds = %B338
  %.374.i129 = add nsw i64 %.21.i110, %.16.i107
  %.376.i130 = icmp sgt i64 %.374.i129, %.64.i
  br i1 %.376.i130, label %common.ret, label %B1078.endif.i

B1768.i:                                          ; preds = %B786.endif.i, %B856.i, %B786.i
  %lsr.iv.next25.i = add i64 %lsr.iv24.i, 8
  %lsr.iv.next27.i = add i64 %lsr.iv26.i, 8
  %lsr.iv.next29.i = add i64 %lsr.iv28.i, 1
  %lsr.iv.next31.i = add nsw i64 %lsr.iv30.i, -1
  %exitcond263.not.i = icmp eq i64 %lsr.iv.next31.i, 0
  br i1 %exitcond263.not.i, label %common.ret, label %B786.i

B650.endif.i:                                     ; preds = %B338
  %.120.i = add nsw i64 %arg.state, 160
  %.121.i = inttoptr i64 %.120.i to ptr
  %.122.i134 = load i64, ptr %.121.i, align 1, !noalias !21
  %.220254.not.i = icmp slt i64 %.21.i110, 1
  br i1 %.220254.not.i, label %common.ret, label %B786.lr.ph.i

B786.lr.ph.i:                                     ; preds = %B650.endif.i
  %.17.not.i.i = icmp eq i64 %.122.i134, 0
  br i1 %.17.not.i.i, label %B786.us.i.preheader, label %B786.i.preheader

B786.i.preheader:                                 ; preds = %B786.lr.ph.i
  %.125.i = add nsw i64 %arg.state, 168
  %.128.i = inttoptr i64 %.125.i to ptr
  %.129.i135 = load i64, ptr %.128.i, align 1, !noalias !21
  br label %B786.i

B786.us.i.preheader:                              ; preds = %B786.lr.ph.i
  br label %B786.us.i

B786.us.i:                                        ; preds = %B1768.us.i, %B786.us.i.preheader
  %lsr.iv22.i = phi i64 [ %lsr.iv.next23.i, %B1768.us.i ], [ %.21.i110, %B786.us.i.preheader ]
  %lsr.iv20.i = phi i64 [ %lsr.iv.next21.i, %B1768.us.i ], [ %.35.i113, %B786.us.i.preheader ]
  %lsr.iv.i148 = phi i64 [ %lsr.iv.next.i149, %B1768.us.i ], [ %.40.i116, %B786.us.i.preheader ]
  %.55.i.us.i = inttoptr i64 %lsr.iv20.i to ptr
  %.56.i.us.i = load i64, ptr %.55.i.us.i, align 1, !noalias !24
  %.294.us.i = icmp sgt i64 %.56.i.us.i, -1
  %.302.us.i = icmp slt i64 %.56.i.us.i, %.64.i
  %or.cond.us.i = select i1 %.294.us.i, i1 %.302.us.i, i1 false
  br i1 %or.cond.us.i, label %B856.us.i, label %B1768.us.i

B856.us.i:                                        ; preds = %B786.us.i
  %43 = inttoptr i64 %.45.i118 to ptr
  %.315.us.i = shl nsw i64 %.56.i.us.i, 2
  %.319.us.i = add nsw i64 %.315.us.i, %.59.i120
  %.320.us.i = inttoptr i64 %.319.us.i to ptr
  %.321.us.i = load i32, ptr %.320.us.i, align 1, !noalias !21
  %promoted399 = zext i32 %.321.us.i to i64
  %44 = lshr i64 %promoted399, 2
  %.325.us.i = mul nuw nsw i64 %44, 40
  %sunkaddr50.i = getelementptr i8, ptr %43, i64 %.325.us.i
  %sunkaddr51.i = getelementptr i8, ptr %sunkaddr50.i, i64 32
  %.330.us.i = load i64, ptr %sunkaddr51.i, align 1, !noalias !21
  %.337.us.i = inttoptr i64 %lsr.iv.i148 to ptr
  %.338.us.i = load i64, ptr %.337.us.i, align 1, !noalias !21
  %.339.us.i = add nsw i64 %.338.us.i, %.330.us.i
  store i64 %.339.us.i, ptr %sunkaddr51.i, align 1, !noalias !21
  br label %B1768.us.i

B1768.us.i:                                       ; preds = %B856.us.i, %B786.us.i
  %lsr.iv.next.i149 = add i64 %lsr.iv.i148, 8
  %lsr.iv.next21.i = add i64 %lsr.iv20.i, 8
  %lsr.iv.next23.i = add nsw i64 %lsr.iv22.i, -1
  %exitcond263.not.us.i = icmp eq i64 %lsr.iv.next23.i, 0
  br i1 %exitcond263.not.us.i, label %common.ret, label %B786.us.i

B786.endif.i:                                     ; preds = %B786.i
  %.55.i.i143 = inttoptr i64 %lsr.iv26.i to ptr
  %.56.i.i144 = load i64, ptr %.55.i.i143, align 1, !noalias !24
  %.294.i = icmp sgt i64 %.56.i.i144, -1
  %.302.i = icmp slt i64 %.56.i.i144, %.64.i
  %or.cond.i145 = select i1 %.294.i, i1 %.302.i, i1 false
  br i1 %or.cond.i145, label %B856.i, label %B1768.i

B1078.endif.i:                                    ; preds = %B1056.i
  %.485221.not.i = icmp slt i64 %.21.i110, 1
  br i1 %.485221.not.i, label %common.ret, label %B1112.lr.ph.i

B1112.lr.ph.i:                                    ; preds = %B1078.endif.i
  %45 = icmp eq i64 %.8.fr.i, 9
  br i1 %45, label %B1112.lr.ph.split.us.i, label %B1112.us230.preheader.i

B1112.us230.preheader.i:                          ; preds = %B1112.lr.ph.i
  %46 = shl i64 %.16.i107, 2
  %47 = add i64 %.59.i120, %46
  br label %B1112.us230.i

B1112.lr.ph.split.us.i:                           ; preds = %B1112.lr.ph.i
  %48 = shl i64 %.16.i107, 3
  %49 = add i64 %.75.i123, %48
  %50 = shl i64 %.16.i107, 2
  %51 = add i64 %.59.i120, %50
  br label %B1112.us.i

B1112.us.i:                                       ; preds = %B1767.us.i, %B1112.lr.ph.split.us.i
  %lsr.iv38.i = phi i64 [ %lsr.iv.next39.i, %B1767.us.i ], [ %.21.i110, %B1112.lr.ph.split.us.i ]
  %lsr.iv36.i = phi i64 [ %lsr.iv.next37.i, %B1767.us.i ], [ %51, %B1112.lr.ph.split.us.i ]
  %lsr.iv34.i = phi i64 [ %lsr.iv.next35.i, %B1767.us.i ], [ %49, %B1112.lr.ph.split.us.i ]
  %lsr.iv32.i = phi i64 [ %lsr.iv.next33.i, %B1767.us.i ], [ %.40.i116, %B1112.lr.ph.split.us.i ]
  %.532.us.i = inttoptr i64 %lsr.iv36.i to ptr
  %.533.us.i = load i32, ptr %.532.us.i, align 1, !noalias !21
  %.534.us.i = zext i32 %.533.us.i to i64
  %.551.us.i = and i64 %.534.us.i, 2
  %.552.not.us.i = icmp eq i64 %.551.us.i, 0
  br i1 %.552.not.us.i, label %B1767.us.i, label %B1250.endif.us.i

B1250.endif.us.i:                                 ; preds = %B1112.us.i
  %52 = inttoptr i64 %.45.i118 to ptr
  %.540.us.i = lshr i64 %.534.us.i, 2
  %.541.us.i = mul nuw nsw i64 %.540.us.i, 40
  %.560.us.i = inttoptr i64 %lsr.iv32.i to ptr
  %.561.us.i = load i64, ptr %.560.us.i, align 1, !noalias !21
  %.570.us.i = inttoptr i64 %lsr.iv34.i to ptr
  %.571.us.i = load i64, ptr %.570.us.i, align 1, !noalias !21
  %.572.us.i = sub nsw i64 %.561.us.i, %.571.us.i
  %.13.i.i133 = tail call i64 @llvm.smax.i64(i64 %.572.us.i, i64 0)
  %sunkaddr53.i = getelementptr i8, ptr %52, i64 %.541.us.i
  %sunkaddr54.i = getelementptr i8, ptr %sunkaddr53.i, i64 24
  %.610.us.i = load i64, ptr %sunkaddr54.i, align 1, !noalias !21
  %.611.us.i = add nsw i64 %.13.i.i133, %.610.us.i
  store i64 %.611.us.i, ptr %sunkaddr54.i, align 1, !noalias !21
  br label %B1767.us.i

B1767.us.i:                                       ; preds = %B1250.endif.us.i, %B1112.us.i
  %lsr.iv.next33.i = add i64 %lsr.iv32.i, 8
  %lsr.iv.next35.i = add i64 %lsr.iv34.i, 8
  %lsr.iv.next37.i = add i64 %lsr.iv36.i, 4
  %lsr.iv.next39.i = add nsw i64 %lsr.iv38.i, -1
  %exitcond262.not.i = icmp eq i64 %lsr.iv.next39.i, 0
  br i1 %exitcond262.not.i, label %common.ret, label %B1112.us.i

B1112.us230.i:                                    ; preds = %B1767.us244.i, %B1112.us230.preheader.i
  %lsr.iv44.i = phi i64 [ %.21.i110, %B1112.us230.preheader.i ], [ %lsr.iv.next45.i, %B1767.us244.i ]
  %lsr.iv42.i = phi i64 [ %47, %B1112.us230.preheader.i ], [ %lsr.iv.next43.i, %B1767.us244.i ]
  %lsr.iv40.i = phi i64 [ %.40.i116, %B1112.us230.preheader.i ], [ %lsr.iv.next41.i, %B1767.us244.i ]
  %.532.us238.i = inttoptr i64 %lsr.iv42.i to ptr
  %.533.us239.i = load i32, ptr %.532.us238.i, align 1, !noalias !21
  %.534.us240.i = zext i32 %.533.us239.i to i64
  %.619.us.i = and i64 %.534.us240.i, 1
  %.622.not.us.i = icmp eq i64 %.619.us.i, 0
  br i1 %.622.not.us.i, label %B1767.us244.i, label %B1530.us.i

B1530.us.i:                                       ; preds = %B1112.us230.i
  %.540.us241.i = lshr i64 %.534.us240.i, 2
  %.541.us242.i = mul nuw nsw i64 %.540.us241.i, 40
  %.543.us243.i = add nsw i64 %.541.us242.i, %.45.i118
  %.629.us.i = inttoptr i64 %.543.us243.i to ptr
  %.630.us.i = load i64, ptr %.629.us.i, align 1, !noalias !21
  %.631.us.i = shl nsw i64 %.630.us.i, 3
  %.633.us.i = add nsw i64 %.631.us.i, %.83.i124
  %.638.us.i = inttoptr i64 %.633.us.i to ptr
  %.639.us.i = load i64, ptr %.638.us.i, align 1, !noalias !21
  %.645.not.us.i = icmp slt i64 %.639.us.i, %.93.i127
  br i1 %.645.not.us.i, label %B1642.us.i, label %common.ret

B1642.us.i:                                       ; preds = %B1530.us.i
  %.676.us.i = shl nsw i64 %.639.us.i, 3
  %.678.us.i = add nsw i64 %.676.us.i, %.88.i
  %.685.us.i = inttoptr i64 %lsr.iv40.i to ptr
  %.686.us.i = load i64, ptr %.685.us.i, align 1, !noalias !21
  %.687.us.i = inttoptr i64 %.678.us.i to ptr
  store i64 %.686.us.i, ptr %.687.us.i, align 1, !noalias !21
  %.690.us.i = add nsw i64 %.639.us.i, 1
  %sunkaddr400 = inttoptr i64 %.83.i124 to ptr
  %sunkaddr401 = mul i64 %.630.us.i, 8
  %sunkaddr402 = getelementptr i8, ptr %sunkaddr400, i64 %sunkaddr401
  store i64 %.690.us.i, ptr %sunkaddr402, align 1, !noalias !21
  br label %B1767.us244.i

B1767.us244.i:                                    ; preds = %B1642.us.i, %B1112.us230.i
  %lsr.iv.next41.i = add i64 %lsr.iv40.i, 8
  %lsr.iv.next43.i = add i64 %lsr.iv42.i, 4
  %lsr.iv.next45.i = add i64 %lsr.iv44.i, -1
  %exitcond.not.i132 = icmp eq i64 %lsr.iv.next45.i, 0
  br i1 %exitcond.not.i132, label %common.ret, label %B1112.us230.i

B368:                                             ; preds = %B316
  %.228 = icmp eq i64 %.8.fr.i, 11
  br i1 %.228, label %B390, label %B420

B390:                                             ; preds = %B368
  %.6.i150 = add nsw i64 %arg.state, 136
  %.7.i151 = inttoptr i64 %.6.i150 to ptr
  %.8.i152 = load i64, ptr %.7.i151, align 1, !noalias !27
  %.10.i153 = add nsw i64 %arg.state, 80
  %.11.i154 = inttoptr i64 %.10.i153 to ptr
  %.12.i155 = load i64, ptr %.11.i154, align 1, !noalias !27
  %.14.i156 = add nsw i64 %arg.state, 40
  %.15.i157 = inttoptr i64 %.14.i156 to ptr
  %.16.i158 = load i64, ptr %.15.i157, align 1, !noalias !27
  %.27.i159 = add nsw i64 %arg.state, 8
  %.28.i160 = inttoptr i64 %.27.i159 to ptr
  %.29.i161 = load i64, ptr %.28.i160, align 1, !noalias !27
  %.66.i = add i64 %.29.i161, -1
  %.11280.not.i = icmp slt i64 %.66.i, 1
  br i1 %.11280.not.i, label %common.ret, label %B244.i.preheader

B244.i.preheader:                                 ; preds = %B390
  br label %B244.i

B244.i:                                           ; preds = %B950.i, %B244.i.preheader
  %.1187981.i = phi i64 [ %.125.i162, %B950.i ], [ 1, %B244.i.preheader ]
  %.125.i162 = add nuw i64 %.1187981.i, 1
  %.155.i = mul nuw nsw i64 %.1187981.i, 40
  %.157.i = add nsw i64 %.155.i, %.8.i152
  %.159.i = add nsw i64 %.157.i, 32
  %.160.i = inttoptr i64 %.159.i to ptr
  %.161.i = load i64, ptr %.160.i, align 1, !noalias !27
  %.167.i163 = inttoptr i64 %.157.i to ptr
  %.168.i = load i64, ptr %.167.i163, align 1, !noalias !27
  %.169.i164 = mul nsw i64 %.168.i, 24
  %.171.i165 = add nsw i64 %.169.i164, %.16.i158
  %.172.i = inttoptr i64 %.171.i165 to ptr
  %.173.i166 = load i64, ptr %.172.i, align 1, !noalias !27
  %.175.i = add nsw i64 %.173.i166, %.161.i
  store i64 %.175.i, ptr %.172.i, align 1, !noalias !27
  %.178.i = add nsw i64 %.171.i165, 8
  %.180.i167 = inttoptr i64 %.178.i to ptr
  %.181.i168 = load i64, ptr %.180.i167, align 1, !noalias !27
  %.183.i = add nsw i64 %.157.i, 24
  %.184.i169 = inttoptr i64 %.183.i to ptr
  %.185.i = load i64, ptr %.184.i169, align 1, !noalias !27
  %.186.i = add nsw i64 %.185.i, %.181.i168
  store i64 %.186.i, ptr %.180.i167, align 1, !noalias !27
  %.203.not.i = icmp eq i64 %.161.i, 0
  br i1 %.203.not.i, label %B950.i, label %B610.i.preheader

B610.i.preheader:                                 ; preds = %B244.i
  br label %B610.i

B610.i:                                           ; preds = %B874.i, %B610.i.preheader
  %up.2.2.i = phi i64 [ %.264.i, %B874.i ], [ %.1187981.i, %B610.i.preheader ]
  %.210.i = mul nsw i64 %up.2.2.i, 40
  %.214.i170 = add nsw i64 %.210.i, %.8.i152
  %.221.i = inttoptr i64 %.214.i170 to ptr
  %.222.i = load i64, ptr %.221.i, align 1, !noalias !27
  %.227.i = shl nsw i64 %.222.i, 3
  %.229.i = add nsw i64 %.227.i, %.12.i155
  %.230.i = inttoptr i64 %.229.i to ptr
  %.231.i = load i64, ptr %.230.i, align 1, !noalias !27
  %.233.not.i = icmp eq i64 %.231.i, %.1187981.i
  br i1 %.233.not.i, label %B874.i, label %B744.i

B744.i:                                           ; preds = %B610.i
  %53 = inttoptr i64 %.16.i158 to ptr
  %sunkaddr403 = inttoptr i64 %.12.i155 to ptr
  %sunkaddr404 = mul i64 %.222.i, 8
  %sunkaddr405 = getelementptr i8, ptr %sunkaddr403, i64 %sunkaddr404
  store i64 %.1187981.i, ptr %sunkaddr405, align 1, !noalias !27
  %.243.i172 = mul nsw i64 %.222.i, 24
  %sunkaddr4.i = getelementptr i8, ptr %53, i64 %.243.i172
  %sunkaddr5.i = getelementptr i8, ptr %sunkaddr4.i, i64 16
  %.250.i173 = load i64, ptr %sunkaddr5.i, align 1, !noalias !27
  %.252.i174 = add nsw i64 %.250.i173, %.161.i
  store i64 %.252.i174, ptr %sunkaddr5.i, align 1, !noalias !27
  br label %B874.i

B874.i:                                           ; preds = %B744.i, %B610.i
  %sunkaddr6.i = inttoptr i64 %.210.i to ptr
  %sunkaddr7.i = getelementptr i8, ptr %sunkaddr6.i, i64 %.8.i152
  %sunkaddr8.i = getelementptr i8, ptr %sunkaddr7.i, i64 8
  %.264.i = load i64, ptr %sunkaddr8.i, align 1, !noalias !27
  %.269.i = icmp sgt i64 %.264.i, 0
  br i1 %.269.i, label %B610.i, label %B950.i

B950.i:                                           ; preds = %B874.i, %B244.i
  %exitcond.not.i175 = icmp eq i64 %.125.i162, %.29.i161
  br i1 %exitcond.not.i175, label %common.ret, label %B244.i

B420:                                             ; preds = %B368
  %.41.i191 = add nsw i64 %arg.state, 40
  %.42.i192 = inttoptr i64 %.41.i191 to ptr
  %.43.i193 = load i64, ptr %.42.i192, align 1, !noalias !30
  %.45.i194 = add nsw i64 %arg.state, 48
  %.46.i195 = inttoptr i64 %.45.i194 to ptr
  %.47.i196 = load i64, ptr %.46.i195, align 1, !noalias !30
  %.103.i197 = add nsw i64 %arg.state, 8
  %.104.i198 = inttoptr i64 %.103.i197 to ptr
  %.105.i = load i64, ptr %.104.i198, align 1, !noalias !30
  %.188325.not.i = icmp slt i64 %.105.i, 1
  br i1 %.188325.not.i, label %common.ret, label %B530.preheader.i

B530.preheader.i:                                 ; preds = %B420
  %const382 = bitcast i64 -4611686018427387904 to i64
  %.31.i188 = add nsw i64 %arg.state, 64
  %.32.i189 = inttoptr i64 %.31.i188 to ptr
  %.33.i190 = load i64, ptr %.32.i189, align 1, !noalias !30
  %.27.i185 = add nsw i64 %arg.state, 56
  %.28.i186 = inttoptr i64 %.27.i185 to ptr
  %.29.i187 = load i64, ptr %.28.i186, align 1, !noalias !30
  %.14.i182 = add nsw i64 %arg.state, 32
  %.15.i183 = inttoptr i64 %.14.i182 to ptr
  %.16.i184 = load i64, ptr %.15.i183, align 1, !noalias !30
  %.10.i179 = add nsw i64 %arg.state, 24
  %.11.i180 = inttoptr i64 %.10.i179 to ptr
  %.12.i181 = load i64, ptr %.11.i180, align 1, !noalias !30
  %.6.i176 = add nsw i64 %arg.state, 16
  %.7.i177 = inttoptr i64 %.6.i176 to ptr
  %.8.i178 = load i64, ptr %.7.i177, align 1, !noalias !30
  br label %B530.i

B530.i:                                           ; preds = %B528.backedge.i, %B530.preheader.i
  %lsr.iv25.i = phi i64 [ %.105.i, %B530.preheader.i ], [ %lsr.iv.next26.i, %B528.backedge.i ]
  %lsr.iv23.i = phi i64 [ %.12.i181, %B530.preheader.i ], [ %lsr.iv.next24.i, %B528.backedge.i ]
  %lsr.iv21.i = phi i64 [ %.16.i184, %B530.preheader.i ], [ %lsr.iv.next22.i, %B528.backedge.i ]
  %lsr.iv19.i = phi i64 [ %.33.i190, %B530.preheader.i ], [ %lsr.iv.next20.i, %B528.backedge.i ]
  %lsr.iv17.i = phi i64 [ %.29.i187, %B530.preheader.i ], [ %lsr.iv.next18.i, %B528.backedge.i ]
  %lsr.iv.i199 = phi i64 [ %.8.i178, %B530.preheader.i ], [ %lsr.iv.next.i210, %B528.backedge.i ]
  %reached4.3.0333.i = phi i64 [ %const382, %B530.preheader.i ], [ %.13.i16.i, %B528.backedge.i ]
  %reached3.4.0332.i = phi i64 [ %const382, %B530.preheader.i ], [ %reached3.5.1.i, %B528.backedge.i ]
  %reached2.4.0331.i = phi i64 [ %const382, %B530.preheader.i ], [ %reached2.5.1264.i, %B528.backedge.i ]
  %reached1.4.0330.i = phi i64 [ %const382, %B530.preheader.i ], [ %reached1.5.1262.i, %B528.backedge.i ]
  %reached0.4.0329.i = phi i64 [ %const382, %B530.preheader.i ], [ %reached0.5.1266.i, %B528.backedge.i ]
  %group.2.0328.i = phi i64 [ -1, %B530.preheader.i ], [ %group.3.1.i, %B528.backedge.i ]
  %.233.i = inttoptr i64 %lsr.iv.i199 to ptr
  %.234.i = load i64, ptr %.233.i, align 1, !noalias !30
  %.240.i200 = icmp slt i64 %.234.i, %group.2.0328.i
  %.243.i201 = icmp slt i64 %.234.i, 0
  %or.cond.i202 = or i1 %.240.i200, %.243.i201
  %.247.i = icmp sge i64 %.234.i, %.47.i196
  %or.cond272.i = select i1 %or.cond.i202, i1 true, i1 %.247.i
  br i1 %or.cond272.i, label %common.ret, label %B616.i

B616.i:                                           ; preds = %B530.i
  %.287.i = inttoptr i64 %lsr.iv17.i to ptr
  %.288.i = load i64, ptr %.287.i, align 1, !noalias !30
  %.293.i = inttoptr i64 %lsr.iv19.i to ptr
  %.294.i203 = load i64, ptr %.293.i, align 1, !noalias !30
  %.298.i204 = inttoptr i64 %lsr.iv23.i to ptr
  %.299.i = load i8, ptr %.298.i204, align 1, !noalias !30
  %54 = zext i8 %.299.i to i32
  %.311.i205 = mul nuw nsw i64 %.234.i, 48
  %.319.not.i = icmp eq i64 %.234.i, %group.2.0328.i
  br i1 %.319.not.i, label %B846.i, label %B1060.i

B846.i:                                           ; preds = %B616.i
  %.409.i216 = icmp sgt i64 %.288.i, %reached4.3.0333.i
  br i1 %.409.i216, label %B858.i, label %B1060.i

B858.i:                                           ; preds = %B846.i
  %.435.i = inttoptr i64 %lsr.iv21.i to ptr
  %.436.i = load i64, ptr %.435.i, align 1, !noalias !30
  %.441.not.i = icmp eq i64 %.436.i, %const382
  br i1 %.441.not.i, label %B1060.i, label %B922.endif.endif.i

B1060.i:                                          ; preds = %B922.endif.endif.i, %B858.i, %B846.i, %B616.i
  %group.3.1.i = phi i64 [ %group.2.0328.i, %B846.i ], [ %group.2.0328.i, %B922.endif.endif.i ], [ %group.2.0328.i, %B858.i ], [ %.234.i, %B616.i ]
  %reached0.3.1.i = phi i64 [ %reached0.4.0329.i, %B846.i ], [ %reached0.4.0329.i, %B922.endif.endif.i ], [ %reached0.4.0329.i, %B858.i ], [ %const382, %B616.i ]
  %reached1.3.1.i = phi i64 [ %reached1.4.0330.i, %B846.i ], [ %reached1.4.0330.i, %B922.endif.endif.i ], [ %reached1.4.0330.i, %B858.i ], [ %const382, %B616.i ]
  %reached2.3.1.i = phi i64 [ %reached2.4.0331.i, %B846.i ], [ %reached2.4.0331.i, %B922.endif.endif.i ], [ %reached2.4.0331.i, %B858.i ], [ %const382, %B616.i ]
  %reached3.3.1.i = phi i64 [ %reached3.4.0332.i, %B846.i ], [ %reached3.4.0332.i, %B922.endif.endif.i ], [ %reached3.4.0332.i, %B858.i ], [ %const382, %B616.i ]
  %reached4.4.1.i = phi i64 [ %reached4.3.0333.i, %B846.i ], [ %reached4.3.0333.i, %B922.endif.endif.i ], [ %reached4.3.0333.i, %B858.i ], [ %const382, %B616.i ]
  switch i32 %54, label %B1416.endif.endif.i [
    i32 0, label %B1072.endif.endif.i
    i32 1, label %B1244.endif.endif.i
  ]

B922.endif.endif.i:                               ; preds = %B858.i
  %sunkaddr.i217 = inttoptr i64 %.311.i205 to ptr
  %sunkaddr27.i218 = getelementptr i8, ptr %sunkaddr.i217, i64 %.43.i193
  %sunkaddr28.i219 = getelementptr i8, ptr %sunkaddr27.i218, i64 40
  %.476.i = load i64, ptr %sunkaddr28.i219, align 1, !noalias !30
  %.13.i.i220 = tail call i64 @llvm.smin.i64(i64 %.288.i, i64 %.436.i)
  %.510.i221 = sub nsw i64 %.13.i.i220, %reached4.3.0333.i
  %.13.i6.i = tail call i64 @llvm.smax.i64(i64 %.510.i221, i64 0)
  %.541.i222 = add nsw i64 %.476.i, %.13.i6.i
  store i64 %.541.i222, ptr %sunkaddr28.i219, align 1, !noalias !30
  br label %B1060.i

B1072.endif.endif.i:                              ; preds = %B1060.i
  %sunkaddr406 = inttoptr i64 %.311.i205 to ptr
  %sunkaddr407 = getelementptr i8, ptr %sunkaddr406, i64 %.43.i193
  %.578.i214 = load i64, ptr %sunkaddr407, align 1, !noalias !30
  %.13.i1.i215 = tail call i64 @llvm.smax.i64(i64 %reached0.3.1.i, i64 %.288.i)
  %.610.i = sub nsw i64 %.294.i203, %.13.i1.i215
  %.13.i7.i = tail call i64 @llvm.smax.i64(i64 %.610.i, i64 0)
  %.639.i = add nsw i64 %.578.i214, %.13.i7.i
  store i64 %.639.i, ptr %sunkaddr407, align 1, !noalias !30
  %.13.i8.i = tail call i64 @llvm.smax.i64(i64 %.294.i203, i64 %reached0.3.1.i)
  br label %B1598.endif.endif.i

B1244.endif.endif.i:                              ; preds = %B1060.i
  %sunkaddr408 = inttoptr i64 %.311.i205 to ptr
  %sunkaddr409 = getelementptr i8, ptr %sunkaddr408, i64 %.43.i193
  %sunkaddr410 = getelementptr i8, ptr %sunkaddr409, i64 8
  %.697.i = load i64, ptr %sunkaddr410, align 1, !noalias !30
  %.13.i2.i209 = tail call i64 @llvm.smax.i64(i64 %reached1.3.1.i, i64 %.288.i)
  %.729.i = sub nsw i64 %.294.i203, %.13.i2.i209
  %.13.i9.i = tail call i64 @llvm.smax.i64(i64 %.729.i, i64 0)
  %.758.i = add nsw i64 %.697.i, %.13.i9.i
  store i64 %.758.i, ptr %sunkaddr410, align 1, !noalias !30
  %.13.i10.i = tail call i64 @llvm.smax.i64(i64 %.294.i203, i64 %reached1.3.1.i)
  br label %B1598.endif.endif.i

B1416.endif.endif.i:                              ; preds = %B1060.i
  %sunkaddr411 = inttoptr i64 %.311.i205 to ptr
  %sunkaddr412 = getelementptr i8, ptr %sunkaddr411, i64 %.43.i193
  %sunkaddr413 = getelementptr i8, ptr %sunkaddr412, i64 16
  %.811.i = load i64, ptr %sunkaddr413, align 1, !noalias !30
  %.13.i3.i = tail call i64 @llvm.smax.i64(i64 %reached2.3.1.i, i64 %.288.i)
  %.843.i = sub nsw i64 %.294.i203, %.13.i3.i
  %.13.i11.i = tail call i64 @llvm.smax.i64(i64 %.843.i, i64 0)
  %.872.i = add nsw i64 %.811.i, %.13.i11.i
  store i64 %.872.i, ptr %sunkaddr413, align 1, !noalias !30
  %.13.i12.i = tail call i64 @llvm.smax.i64(i64 %.294.i203, i64 %reached2.3.1.i)
  br label %B528.backedge.i

B1598.endif.endif.i:                              ; preds = %B1244.endif.endif.i, %B1072.endif.endif.i
  %reached1.5.1.ph.i = phi i64 [ %.13.i10.i, %B1244.endif.endif.i ], [ %reached1.3.1.i, %B1072.endif.endif.i ]
  %reached0.5.1.ph.i = phi i64 [ %reached0.3.1.i, %B1244.endif.endif.i ], [ %.13.i8.i, %B1072.endif.endif.i ]
  %55 = inttoptr i64 %.311.i205 to ptr
  %sunkaddr38.i = getelementptr i8, ptr %55, i64 %.43.i193
  %sunkaddr39.i = getelementptr i8, ptr %sunkaddr38.i, i64 24
  %.924.i = load i64, ptr %sunkaddr39.i, align 1, !noalias !30
  %.13.i4.i = tail call i64 @llvm.smax.i64(i64 %reached3.3.1.i, i64 %.288.i)
  %.956.i = sub nsw i64 %.294.i203, %.13.i4.i
  %.13.i13.i = tail call i64 @llvm.smax.i64(i64 %.956.i, i64 0)
  %.985.i = add nsw i64 %.924.i, %.13.i13.i
  store i64 %.985.i, ptr %sunkaddr39.i, align 1, !noalias !30
  %.13.i14.i = tail call i64 @llvm.smax.i64(i64 %.294.i203, i64 %reached3.3.1.i)
  br label %B528.backedge.i

B528.backedge.i:                                  ; preds = %B1598.endif.endif.i, %B1416.endif.endif.i
  %reached0.5.1266.i = phi i64 [ %reached0.5.1.ph.i, %B1598.endif.endif.i ], [ %reached0.3.1.i, %B1416.endif.endif.i ]
  %reached2.5.1264.i = phi i64 [ %reached2.3.1.i, %B1598.endif.endif.i ], [ %.13.i12.i, %B1416.endif.endif.i ]
  %reached1.5.1262.i = phi i64 [ %reached1.5.1.ph.i, %B1598.endif.endif.i ], [ %reached1.3.1.i, %B1416.endif.endif.i ]
  %reached3.5.1.i = phi i64 [ %.13.i14.i, %B1598.endif.endif.i ], [ %reached3.3.1.i, %B1416.endif.endif.i ]
  %56 = inttoptr i64 %.311.i205 to ptr
  %sunkaddr41.i = getelementptr i8, ptr %56, i64 %.43.i193
  %sunkaddr42.i = getelementptr i8, ptr %sunkaddr41.i, i64 32
  %.1057.i = load i64, ptr %sunkaddr42.i, align 1, !noalias !30
  %.13.i5.i = tail call i64 @llvm.smax.i64(i64 %reached4.4.1.i, i64 %.288.i)
  %.1091.i = sub nsw i64 %.294.i203, %.13.i5.i
  %.13.i15.i = tail call i64 @llvm.smax.i64(i64 %.1091.i, i64 0)
  %.1120.i = add nsw i64 %.1057.i, %.13.i15.i
  store i64 %.1120.i, ptr %sunkaddr42.i, align 1, !noalias !30
  %.13.i16.i = tail call i64 @llvm.smax.i64(i64 %.294.i203, i64 %reached4.4.1.i)
  %lsr.iv.next.i210 = add i64 %lsr.iv.i199, 8
  %lsr.iv.next18.i = add i64 %lsr.iv17.i, 8
  %lsr.iv.next20.i = add i64 %lsr.iv19.i, 8
  %lsr.iv.next22.i = add i64 %lsr.iv21.i, 8
  %lsr.iv.next24.i = add i64 %lsr.iv23.i, 1
  %lsr.iv.next26.i = add i64 %lsr.iv25.i, -1
  %exitcond.not.i211 = icmp eq i64 %lsr.iv.next26.i, 0
  br i1 %exitcond.not.i211, label %common.ret, label %B530.i

common.ret:                                       ; preds = %B528.backedge.i, %B530.i, %B420, %B950.i, %B390, %B1767.us244.i, %B1530.us.i, %B1767.us.i, %B1078.endif.i, %B1768.us.i, %B650.endif.i, %B1768.i, %B1056.i, %B940.endif.i, %B2486.i, %B2026.i, %B1174.i, %B1134.i, %B286, %B1856.i, %B1394.i, %B922.i, %B818.i, %B526.i, %B360.i, %B292.i, %B182, %B636.i, %B560.i, %B412.i, %B344.i, %B130, %B906.us.i, %B906.us23.i, %B722.endif.i, %B506.i.prol.loopexit, %B474.endif.i, %B906.i, %B716.i.1, %B410.i, %B348.i
  %storemerge.i.sink = phi i64 [ 0, %B390 ], [ 0, %B420 ], [ 1, %B1056.i ], [ 0, %B1078.endif.i ], [ 0, %B906.us.i ], [ 0, %B716.i.1 ], [ 0, %B906.i ], [ 0, %B474.endif.i ], [ 1, %B348.i ], [ 0, %B906.us23.i ], [ 0, %B722.endif.i ], [ 1, %B344.i ], [ 1, %B530.i ], [ 0, %B506.i.prol.loopexit ], [ 0, %B130 ], [ 0, %B1768.us.i ], [ 0, %B1768.i ], [ 1, %B560.i ], [ 0, %B182 ], [ 1, %B818.i ], [ 0, %B1767.us.i ], [ 0, %B1856.i ], [ 0, %B650.endif.i ], [ 1, %B1530.us.i ], [ 0, %B2486.i ], [ 1, %B286 ], [ 0, %B950.i ], [ 0, %B526.i ], [ 1, %B410.i ], [ 0, %B1767.us244.i ], [ 0, %B528.backedge.i ], [ 1, %B412.i ], [ 0, %B636.i ], [ 1, %B292.i ], [ 1, %B360.i ], [ 1, %B1394.i ], [ 1, %B922.i ], [ 1, %B940.endif.i ], [ 1, %B2026.i ], [ 1, %B1174.i ], [ 1, %B1134.i ]
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
!12 = !{!13, !10}
!13 = distinct !{!13, !14, !"_ZN9tracelens6derive15ancestry_kernel6row_atB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxxx: %retptr"}
!14 = distinct !{!14, !"_ZN9tracelens6derive15ancestry_kernel6row_atB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxxx"}
!15 = !{!16}
!16 = distinct !{!16, !17, !"_ZN9tracelens6derive15ancestry_kernel6placedB3v32B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!17 = distinct !{!17, !"_ZN9tracelens6derive15ancestry_kernel6placedB3v32B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!18 = !{!19, !16}
!19 = distinct !{!19, !20, !"_ZN9tracelens6derive15ancestry_kernel6row_atB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxxx: %retptr"}
!20 = distinct !{!20, !"_ZN9tracelens6derive15ancestry_kernel6row_atB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxxx"}
!21 = !{!22}
!22 = distinct !{!22, !23, !"_ZN9tracelens6derive15ancestry_kernel12charge_nodesB3v33B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!23 = distinct !{!23, !"_ZN9tracelens6derive15ancestry_kernel12charge_nodesB3v33B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!24 = !{!25, !22}
!25 = distinct !{!25, !26, !"_ZN9tracelens6derive15ancestry_kernel6row_atB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxxx: %retptr"}
!26 = distinct !{!26, !"_ZN9tracelens6derive15ancestry_kernel6row_atB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxxx"}
!27 = !{!28}
!28 = distinct !{!28, !29, !"_ZN9tracelens6derive15ancestry_kernel6totalsB3v34B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!29 = distinct !{!29, !"_ZN9tracelens6derive15ancestry_kernel6totalsB3v34B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!30 = !{!31}
!31 = distinct !{!31, !32, !"_ZN9tracelens6derive15ancestry_kernel7lengthsB3v35B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!32 = distinct !{!32, !"_ZN9tracelens6derive15ancestry_kernel7lengthsB3v35B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
