; de3c0a9d14250e8e38d51ab21e7876f14b7b21b0f58706824358658cf8f4184c


define noundef range(i32 -1, -2) i32 @climb(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0:
  %.10 = inttoptr i64 %arg.state to ptr
  %.11 = load i64, ptr %.10, align 1
  %.8.fr.i49 = freeze i64 %.11
  %.16 = icmp slt i64 %.8.fr.i49, 4
  br i1 %.16, label %B78, label %B108

B78:                                              ; preds = %B0
  %const281 = bitcast i64 -4611686018427387904 to i64
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
  %lsr.iv274 = phi i64 [ %lsr.iv.next275, %B410.i ], [ %..15.i, %B78 ]
  %lsr.iv84.i = phi i64 [ %lsr.iv.next85.i, %B410.i ], [ %0, %B78 ]
  %lsr.iv82.i = phi i64 [ %lsr.iv.next83.i, %B410.i ], [ %.22.i, %B78 ]
  %1 = tail call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %lsr.iv274, i64 1)
  %ov.i = extractvalue { i64, i1 } %1, 1
  br i1 %ov.i, label %B452.i, label %B348.i

B348.i:                                           ; preds = %B346.i
  %.170.i = inttoptr i64 %lsr.iv82.i to ptr
  %.171.i = load i64, ptr %.170.i, align 1, !noalias !0
  %lsr.iv.next85.i = add i64 %lsr.iv84.i, 1
  %lsr.iv.next275 = add nsw i64 %lsr.iv274, -1
  %lsr.iv.next83.i = add i64 %lsr.iv82.i, 8
  %.178.not.i = icmp slt i64 %.171.i, %lsr.iv.next85.i
  br i1 %.178.not.i, label %B410.i, label %common.ret

B410.i:                                           ; preds = %B348.i
  %.181.i = icmp slt i64 %.171.i, 0
  %.184.i = icmp ne i64 %.171.i, %const281
  %or.cond.i = and i1 %.181.i, %.184.i
  br i1 %or.cond.i, label %common.ret, label %B346.i

B452.i:                                           ; preds = %B346.i
  %.214.i = icmp eq i64 %.8.fr.i49, 3
  br i1 %.214.i, label %B474.endif.i, label %B722.endif.i

B506.i:                                           ; preds = %B506.i.preheader, %B716.i.1
  %lsr.iv272 = phi i64 [ %13, %B506.i.preheader ], [ %lsr.iv.next273, %B716.i.1 ]
  %lsr.iv = phi i64 [ %12, %B506.i.preheader ], [ %lsr.iv.next, %B716.i.1 ]
  %lsr.iv60.i = phi i64 [ %lsr.iv.next61.i.1, %B716.i.1 ], [ %lsr.iv60.i.unr, %B506.i.preheader ]
  %2 = add i64 %lsr.iv, 8
  %.352.i = inttoptr i64 %2 to ptr
  %.353.i = load i64, ptr %.352.i, align 1, !noalias !0
  %.358.i = icmp sgt i64 %.353.i, -1
  br i1 %.358.i, label %B590.i, label %B716.i

B590.i:                                           ; preds = %B506.i
  %3 = add i64 %lsr.iv272, 8
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
  %.378.i.1 = inttoptr i64 %lsr.iv272 to ptr
  %.379.i.1 = load i64, ptr %.378.i.1, align 1, !noalias !0
  %.380.i.1 = add nsw i64 %.379.i.1, %.371.i.1
  store i64 %.380.i.1, ptr %.370.i.1, align 1, !noalias !0
  br label %B716.i.1

B716.i.1:                                         ; preds = %B590.i.1, %B716.i
  %lsr.iv.next61.i.1 = add nsw i64 %lsr.iv60.i, -2
  %lsr.iv.next = add i64 %lsr.iv, -16
  %lsr.iv.next273 = add i64 %lsr.iv272, -16
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
  %.602.i = icmp eq i64 %found.5.1.i, %const281
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
  %.544.i = icmp eq i64 %.8.fr.i49, 2
  %spec.select.i = select i1 %.544.i, i64 0, i64 %const281
  br i1 %.544.i, label %B762.us.preheader.i, label %B762.preheader.i

B762.us.preheader.i:                              ; preds = %B762.lr.ph.i
  %14 = add nuw i64 %.15.i, 1
  %15 = shl i64 %.43.i, 3
  %16 = add i64 %15, %.30.i
  %17 = add i64 %.43.i, %.26.i
  br label %B762.us.i

B762.preheader.i:                                 ; preds = %B762.lr.ph.i
  %.596.i = icmp eq i64 %.8.fr.i49, 0
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
  %.53 = icmp eq i64 %.8.fr.i49, 4
  br i1 %.53, label %B130, label %B160

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
  %const280 = bitcast i64 -4611686018427387904 to i64
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
  %.183.not.i = icmp eq i64 %.171.i11, %const280
  br i1 %.183.not.i, label %B636.i, label %common.ret

B474.i:                                           ; preds = %B620.i, %B474.i.preheader
  %at.2.1.i = phi i64 [ %.315.i, %B620.i ], [ %.171.i11, %B474.i.preheader ]
  %top.4.1.i = phi i64 [ %top.3.3.i, %B620.i ], [ %const280, %B474.i.preheader ]
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
  %top.2.2.i = phi i64 [ %const280, %B412.i ], [ %top.3.3.i, %B620.i ]
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

B160:                                             ; preds = %B108
  %.88 = icmp samesign ult i64 %.8.fr.i49, 7
  br i1 %.88, label %B182, label %B212

B182:                                             ; preds = %B160
  %.17.i = add nsw i64 %arg.state, 16
  %.18.i = inttoptr i64 %.17.i to ptr
  %.19.i = load i64, ptr %.18.i, align 1, !noalias !6
  %.27.i16 = add nsw i64 %arg.state, 40
  %.28.i17 = inttoptr i64 %.27.i16 to ptr
  %.29.i18 = load i64, ptr %.28.i17, align 1, !noalias !6
  %.41.i19 = add nsw i64 %arg.state, 48
  %.42.i20 = inttoptr i64 %.41.i19 to ptr
  %.43.i21 = load i64, ptr %.42.i20, align 1, !noalias !6
  %.49.i = add nsw i64 %arg.state, 56
  %.50.i = inttoptr i64 %.49.i to ptr
  %.51.i = load i64, ptr %.50.i, align 1, !noalias !6
  %.54.i = add nsw i64 %arg.state, 64
  %.55.i = inttoptr i64 %.54.i to ptr
  %.56.i = load i64, ptr %.55.i, align 1, !noalias !6
  %.65.i = add nsw i64 %arg.state, 72
  %.66.i = inttoptr i64 %.65.i to ptr
  %.67.i = load i64, ptr %.66.i, align 1, !noalias !6
  %.70.i = add nsw i64 %arg.state, 80
  %.71.i = inttoptr i64 %.70.i to ptr
  %.72.i = load i64, ptr %.71.i, align 1, !noalias !6
  %.93.i = add nsw i64 %arg.state, 8
  %.94.i = inttoptr i64 %.93.i to ptr
  %.95.i = load i64, ptr %.94.i, align 1, !noalias !6
  %.178284.not.i = icmp slt i64 %.95.i, 1
  br i1 %.178284.not.i, label %common.ret, label %B570.lr.ph.i

B570.lr.ph.i:                                     ; preds = %B182
  %const279 = bitcast i64 -4611686018427387904 to i64
  %.275.i = icmp eq i64 %.8.fr.i49, 5
  br i1 %.275.i, label %B570.us.i.preheader, label %B570.preheader.i

B570.us.i.preheader:                              ; preds = %B570.lr.ph.i
  %.22.i14 = add nsw i64 %arg.state, 32
  %.23.i = inttoptr i64 %.22.i14 to ptr
  %.24.i15 = load i64, ptr %.23.i, align 1, !noalias !6
  br label %B570.us.i

B570.preheader.i:                                 ; preds = %B570.lr.ph.i
  %23 = add i64 %.72.i, 16
  br label %B570.i

B570.us.i:                                        ; preds = %B1584.us.i, %B570.us.i.preheader
  %lsr.iv19.i = phi i64 [ %lsr.iv.next20.i, %B1584.us.i ], [ %.95.i, %B570.us.i.preheader ]
  %lsr.iv17.i = phi i64 [ %lsr.iv.next18.i, %B1584.us.i ], [ %.19.i, %B570.us.i.preheader ]
  %lsr.iv.i28 = phi i64 [ %lsr.iv.next.i29, %B1584.us.i ], [ %.24.i15, %B570.us.i.preheader ]
  %.223.us.i = inttoptr i64 %lsr.iv17.i to ptr
  %.224.us.i = load i64, ptr %.223.us.i, align 1, !noalias !6
  %.230.not.us.i = icmp slt i64 %.224.us.i, %.43.i21
  br i1 %.230.not.us.i, label %B626.us.i, label %common.ret

B626.us.i:                                        ; preds = %B570.us.i
  %.233.us.i = icmp slt i64 %.224.us.i, 0
  %.236.us.i = icmp ne i64 %.224.us.i, %const279
  %or.cond.us.i = and i1 %.233.us.i, %.236.us.i
  br i1 %or.cond.us.i, label %common.ret, label %B666.us.i

B666.us.i:                                        ; preds = %B626.us.i
  %.718.us.i = icmp sgt i64 %.224.us.i, -1
  br i1 %.718.us.i, label %B1496.us.i, label %B1584.us.i

B1496.us.i:                                       ; preds = %B666.us.i
  %.307.us.i = inttoptr i64 %lsr.iv.i28 to ptr
  %.308.us.i = load i64, ptr %.307.us.i, align 1, !noalias !6
  %.721.us.i = shl nsw i64 %.224.us.i, 3
  %.723.us.i = add nsw i64 %.721.us.i, %.29.i18
  %.730.us.i = inttoptr i64 %.723.us.i to ptr
  %.731.us.i = load i64, ptr %.730.us.i, align 1, !noalias !6
  %.733.us.i = add nsw i64 %.731.us.i, %.308.us.i
  store i64 %.733.us.i, ptr %.730.us.i, align 1, !noalias !6
  br label %B1584.us.i

B1584.us.i:                                       ; preds = %B1496.us.i, %B666.us.i
  %lsr.iv.next.i29 = add i64 %lsr.iv.i28, 8
  %lsr.iv.next18.i = add i64 %lsr.iv17.i, 8
  %lsr.iv.next20.i = add i64 %lsr.iv19.i, -1
  %exitcond304.not.i = icmp eq i64 %lsr.iv.next20.i, 0
  br i1 %exitcond304.not.i, label %common.ret, label %B570.us.i

B570.i:                                           ; preds = %B1584.i, %B570.preheader.i
  %last_end.2.0290.i = phi i64 [ %.324.i, %B1584.i ], [ 0, %B570.preheader.i ]
  %last_start.2.0289.i = phi i64 [ %.318.i, %B1584.i ], [ -9223372036854775808, %B570.preheader.i ]
  %place.3.0288.i = phi i64 [ %place.5.3307.i, %B1584.i ], [ 0, %B570.preheader.i ]
  %n_lanes.2.0287.i = phi i64 [ %n_lanes.4.2.i, %B1584.i ], [ 0, %B570.preheader.i ]
  %.184278285.i = phi i64 [ %.191.i, %B1584.i ], [ 0, %B570.preheader.i ]
  %.191.i = add nuw nsw i64 %.184278285.i, 1
  %.220.i = shl nsw i64 %.184278285.i, 3
  %.222.i = add nsw i64 %.220.i, %.19.i
  %.223.i = inttoptr i64 %.222.i to ptr
  %.224.i = load i64, ptr %.223.i, align 1, !noalias !6
  %.230.not.i = icmp slt i64 %.224.i, %.43.i21
  br i1 %.230.not.i, label %B626.i, label %common.ret

B626.i:                                           ; preds = %B570.i
  %.233.i = icmp slt i64 %.224.i, 0
  %.236.i = icmp ne i64 %.224.i, %const279
  %or.cond.i25 = and i1 %.233.i, %.236.i
  br i1 %or.cond.i25, label %common.ret, label %B666.i

B666.i:                                           ; preds = %B626.i
  %sunkaddr = inttoptr i64 %.51.i to ptr
  %sunkaddr282 = mul i64 %.184278285.i, 8
  %sunkaddr283 = getelementptr i8, ptr %sunkaddr, i64 %sunkaddr282
  %.318.i = load i64, ptr %sunkaddr283, align 1, !noalias !6
  %sunkaddr284 = inttoptr i64 %.56.i to ptr
  %sunkaddr285 = mul i64 %.184278285.i, 8
  %sunkaddr286 = getelementptr i8, ptr %sunkaddr284, i64 %sunkaddr285
  %.324.i = load i64, ptr %sunkaddr286, align 1, !noalias !6
  %sunkaddr287 = inttoptr i64 %.67.i to ptr
  %sunkaddr288 = mul i64 %.184278285.i, 8
  %sunkaddr289 = getelementptr i8, ptr %sunkaddr287, i64 %sunkaddr288
  %.332.i = load i64, ptr %sunkaddr289, align 1, !noalias !6
  %.344.i = icmp slt i64 %.318.i, %last_start.2.0289.i
  br i1 %.344.i, label %common.ret, label %B872.i

B872.i:                                           ; preds = %B666.i
  %.348.i = icmp eq i64 %.318.i, %last_start.2.0289.i
  %.354.i = icmp sgt i64 %.324.i, %last_end.2.0290.i
  %or.cond268.i = select i1 %.348.i, i1 %.354.i, i1 false
  br i1 %or.cond268.i, label %common.ret, label %B902.i

B902.i:                                           ; preds = %B872.i
  %.410.not.i = icmp slt i64 %place.3.0288.i, %n_lanes.2.0287.i
  br i1 %.410.not.i, label %B922.i, label %B972.i

B922.i:                                           ; preds = %B902.i
  %.417.i = shl nsw i64 %place.3.0288.i, 4
  %.421.i = add nsw i64 %.417.i, %.72.i
  %.422.i = inttoptr i64 %.421.i to ptr
  %.423.i = load i64, ptr %.422.i, align 1, !noalias !6
  %.425.not.i = icmp eq i64 %.423.i, %.332.i
  br i1 %.425.not.i, label %B1110.i, label %B972.i

B972.i:                                           ; preds = %B922.i, %B902.i
  %.437.i = icmp sgt i64 %n_lanes.2.0287.i, 0
  br i1 %.437.i, label %B988.i, label %B1110.i

B988.i:                                           ; preds = %B972.i
  %24 = inttoptr i64 %.72.i to ptr
  %.453.i = load i64, ptr %24, align 1, !noalias !6
  %.455.not.i = icmp eq i64 %.453.i, %.332.i
  br i1 %.455.not.i, label %B1110.i, label %B1038.preheader.i

B1038.preheader.i:                                ; preds = %B988.i
  %25 = add nsw i64 %n_lanes.2.0287.i, -1
  br label %B1038.i

B1038.i:                                          ; preds = %B1060.i, %B1038.preheader.i
  %lsr.iv276 = phi i64 [ %lsr.iv.next277, %B1060.i ], [ %23, %B1038.preheader.i ]
  %place.6.3.i = phi i64 [ 0, %B1038.preheader.i ], [ %.461.i, %B1060.i ]
  %exitcond.not.i27 = icmp eq i64 %25, %place.6.3.i
  br i1 %exitcond.not.i27, label %B1122.i, label %B1060.i

B1060.i:                                          ; preds = %B1038.i
  %.461.i = add nuw nsw i64 %place.6.3.i, 1
  %.486.i = inttoptr i64 %lsr.iv276 to ptr
  %.487.i = load i64, ptr %.486.i, align 1, !noalias !6
  %.489.not.i = icmp eq i64 %.487.i, %.332.i
  %lsr.iv.next277 = add i64 %lsr.iv276, 16
  br i1 %.489.not.i, label %B1110.i, label %B1038.i

B1110.i:                                          ; preds = %B1060.i, %B988.i, %B972.i, %B922.i
  %place.5.3.i = phi i64 [ 0, %B972.i ], [ %place.3.0288.i, %B922.i ], [ 0, %B988.i ], [ %.461.i, %B1060.i ]
  %.508.i = icmp eq i64 %place.5.3.i, %n_lanes.2.0287.i
  br i1 %.508.i, label %B1122.i, label %B1110.B1292.endif.endif.endif_crit_edge.i

B1110.B1292.endif.endif.endif_crit_edge.i:        ; preds = %B1110.i
  %.pre.i = shl nsw i64 %place.5.3.i, 4
  br label %B1292.endif.endif.endif.i

B1122.i:                                          ; preds = %B1110.i, %B1038.i
  %sunkaddr290 = inttoptr i64 %arg.state to ptr
  %sunkaddr291 = getelementptr i8, ptr %sunkaddr290, i64 88
  %.516.i = load i64, ptr %sunkaddr291, align 1, !noalias !6
  %.518.i = icmp eq i64 %n_lanes.2.0287.i, %.516.i
  br i1 %.518.i, label %common.ret, label %B1188.i

B1188.i:                                          ; preds = %B1122.i
  %.561.i = add nsw i64 %n_lanes.2.0287.i, 1
  %.567.i = shl nsw i64 %n_lanes.2.0287.i, 4
  %.569.i = add nsw i64 %.567.i, %.72.i
  %.571.i = inttoptr i64 %.569.i to ptr
  store i64 %.332.i, ptr %.571.i, align 1, !noalias !6
  %.579.i26 = add nsw i64 %.569.i, 8
  %.581.i = inttoptr i64 %.579.i26 to ptr
  store i64 %.318.i, ptr %.581.i, align 1, !noalias !6
  br label %B1292.endif.endif.endif.i

B1496.i:                                          ; preds = %B1292.endif.endif.endif.i
  %.13.i.i = tail call i64 @llvm.smax.i64(i64 %.612.i, i64 %.318.i)
  %.645.i = sub nsw i64 %.324.i, %.13.i.i
  %.13.i1.i = tail call i64 @llvm.smax.i64(i64 %.645.i, i64 0)
  %.721.i = shl nsw i64 %.224.i, 3
  %.723.i = add nsw i64 %.721.i, %.29.i18
  %.730.i = inttoptr i64 %.723.i to ptr
  %.731.i = load i64, ptr %.730.i, align 1, !noalias !6
  %.733.i = add nsw i64 %.731.i, %.13.i1.i
  store i64 %.733.i, ptr %.730.i, align 1, !noalias !6
  br label %B1584.i

B1584.i:                                          ; preds = %B1292.endif.endif.endif.i, %B1496.i
  %exitcond303.not.i = icmp eq i64 %.191.i, %.95.i
  br i1 %exitcond303.not.i, label %common.ret, label %B570.i

B1292.endif.endif.endif.i:                        ; preds = %B1188.i, %B1110.B1292.endif.endif.endif_crit_edge.i
  %.607.pre-phi.i = phi i64 [ %.pre.i, %B1110.B1292.endif.endif.endif_crit_edge.i ], [ %.567.i, %B1188.i ]
  %place.5.3307.i = phi i64 [ %place.5.3.i, %B1110.B1292.endif.endif.endif_crit_edge.i ], [ %n_lanes.2.0287.i, %B1188.i ]
  %n_lanes.4.2.i = phi i64 [ %n_lanes.2.0287.i, %B1110.B1292.endif.endif.endif_crit_edge.i ], [ %.561.i, %B1188.i ]
  %26 = inttoptr i64 %.72.i to ptr
  %sunkaddr35.i = getelementptr i8, ptr %26, i64 %.607.pre-phi.i
  %sunkaddr36.i = getelementptr i8, ptr %sunkaddr35.i, i64 8
  %.612.i = load i64, ptr %sunkaddr36.i, align 1, !noalias !6
  %.13.i2.i = tail call i64 @llvm.smax.i64(i64 %.612.i, i64 %.324.i)
  store i64 %.13.i2.i, ptr %sunkaddr36.i, align 1, !noalias !6
  %.718.i = icmp sgt i64 %.224.i, -1
  br i1 %.718.i, label %B1496.i, label %B1584.i

B212:                                             ; preds = %B160
  %.123 = icmp samesign ult i64 %.8.fr.i49, 10
  br i1 %.123, label %B234, label %B264

B234:                                             ; preds = %B212
  %.13.i30 = add nsw i64 %arg.state, 16
  %.14.i31 = inttoptr i64 %.13.i30 to ptr
  %.15.i32 = load i64, ptr %.14.i31, align 1, !noalias !9
  %.17.i33 = add nsw i64 %arg.state, 24
  %.18.i34 = inttoptr i64 %.17.i33 to ptr
  %.19.i35 = load i64, ptr %.18.i34, align 1, !noalias !9
  %.21.i36 = add nsw i64 %arg.state, 32
  %.22.i37 = inttoptr i64 %.21.i36 to ptr
  %.23.i38 = load i64, ptr %.22.i37, align 1, !noalias !9
  %.34.i = add nsw i64 %arg.state, 104
  %.35.i = inttoptr i64 %.34.i to ptr
  %.36.i = load i64, ptr %.35.i, align 1, !noalias !9
  %.38.i = add nsw i64 %arg.state, 112
  %.39.i = inttoptr i64 %.38.i to ptr
  %.40.i = load i64, ptr %.39.i, align 1, !noalias !9
  %.48.i = add nsw i64 %arg.state, 120
  %.49.i39 = inttoptr i64 %.48.i to ptr
  %.50.i40 = load i64, ptr %.49.i39, align 1, !noalias !9
  %.52.i = add nsw i64 %arg.state, 128
  %.53.i = inttoptr i64 %.52.i to ptr
  %.54.i41 = load i64, ptr %.53.i, align 1, !noalias !9
  %.66.i42 = add nsw i64 %arg.state, 80
  %.67.i43 = inttoptr i64 %.66.i42 to ptr
  %.68.i = load i64, ptr %.67.i43, align 1, !noalias !9
  %.70.i44 = add nsw i64 %arg.state, 40
  %.71.i45 = inttoptr i64 %.70.i44 to ptr
  %.72.i46 = load i64, ptr %.71.i45, align 1, !noalias !9
  %.83.i = add nsw i64 %arg.state, 8
  %.84.i = inttoptr i64 %.83.i to ptr
  %.85.i = load i64, ptr %.84.i, align 1, !noalias !9
  %.168328.not.i = icmp slt i64 %.85.i, 1
  br i1 %.168328.not.i, label %common.ret, label %B658.i.preheader

B658.i.preheader:                                 ; preds = %B234
  %.62.i = add nsw i64 %arg.state, 56
  %.63.i = inttoptr i64 %.62.i to ptr
  %.64.i = load i64, ptr %.63.i, align 1, !noalias !9
  br label %B658.i

B658.i:                                           ; preds = %B2199.i, %B658.i.preheader
  %.174318329.i = phi i64 [ %.181.i50, %B2199.i ], [ 0, %B658.i.preheader ]
  %.181.i50 = add nuw nsw i64 %.174318329.i, 1
  switch i64 %.8.fr.i49, label %default.unreachable [
    i64 7, label %B686.i
    i64 9, label %B802.i
    i64 8, label %B1082.i.preheader
  ]

B1082.i.preheader:                                ; preds = %B658.i
  br label %B1082.i

B686.i:                                           ; preds = %B658.i
  %.219.i = shl nsw i64 %.174318329.i, 3
  %.221.i = add nsw i64 %.219.i, %.15.i32
  %.222.i60 = inttoptr i64 %.221.i to ptr
  %.223.i61 = load i64, ptr %.222.i60, align 1, !noalias !9
  %.229.not.i = icmp slt i64 %.223.i61, %.40.i
  br i1 %.229.not.i, label %B740.i, label %common.ret

B740.i:                                           ; preds = %B686.i
  %.235.i = icmp slt i64 %.223.i61, 0
  br i1 %.235.i, label %B752.i, label %B1082.us.i.preheader

B1082.us.i.preheader:                             ; preds = %B740.i
  br label %B1082.us.i

default.unreachable:                              ; preds = %B658.i
  unreachable

B752.i:                                           ; preds = %B740.i
  %const278 = bitcast i64 -4611686018427387904 to i64
  %.241.not.i = icmp eq i64 %.223.i61, %const278
  br i1 %.241.not.i, label %B2199.i, label %common.ret

B802.i:                                           ; preds = %B658.i
  %.284.i = add nsw i64 %.174318329.i, %.19.i35
  %.285.i = inttoptr i64 %.284.i to ptr
  %.286.i = load i8, ptr %.285.i, align 1, !noalias !9
  %.288.i = icmp eq i8 %.286.i, 1
  br i1 %.288.i, label %B846.i, label %B2199.i

B846.i:                                           ; preds = %B802.i
  %27 = icmp sgt i64 %.54.i41, 1
  %.15.i.i = mul nsw i64 %.174318329.i, %.54.i41
  %.17.i.i = add nsw i64 %.15.i.i, %.50.i40
  %.18.i.i = inttoptr i64 %.17.i.i to ptr
  %.19.i.i = load i8, ptr %.18.i.i, align 1, !noalias !12
  %.20.i.i = zext i8 %.19.i.i to i64
  br i1 %27, label %B118.i.i, label %B846.endif.i

B118.i.i:                                         ; preds = %B846.i
  %28 = icmp eq i64 %.54.i41, 2
  %sunkaddr.i.i = inttoptr i64 %.15.i.i to ptr
  %sunkaddr1.i.i = getelementptr i8, ptr %sunkaddr.i.i, i64 %.50.i40
  %sunkaddr2.i.i = getelementptr i8, ptr %sunkaddr1.i.i, i64 1
  %.38.i.i = load i8, ptr %sunkaddr2.i.i, align 1, !noalias !12
  %.39.i.i = zext i8 %.38.i.i to i64
  %.40.i.i = shl nuw nsw i64 %.39.i.i, 8
  %.42.i.i = or disjoint i64 %.40.i.i, %.20.i.i
  br i1 %28, label %B846.endif.i, label %B130.i.i

B130.i.i:                                         ; preds = %B118.i.i
  %sunkaddr292 = inttoptr i64 %.15.i.i to ptr
  %sunkaddr293 = getelementptr i8, ptr %sunkaddr292, i64 %.50.i40
  %sunkaddr294 = getelementptr i8, ptr %sunkaddr293, i64 2
  %.64.i.i = load i16, ptr %sunkaddr294, align 1, !noalias !12
  %29 = zext i16 %.64.i.i to i64
  %30 = shl nuw nsw i64 %29, 16
  %.85.i.i = or disjoint i64 %30, %.42.i.i
  br label %B846.endif.i

B1082.us.i:                                       ; preds = %B1226.us.i, %B1082.us.i.preheader
  %at.4.2.us.i = phi i64 [ %.406.us.i, %B1226.us.i ], [ %.223.i61, %B1082.us.i.preheader ]
  %.374.us.i = add nsw i64 %at.4.2.us.i, %.19.i35
  %.375.us.i = inttoptr i64 %.374.us.i to ptr
  %.376.us.i = load i8, ptr %.375.us.i, align 1, !noalias !9
  %.382.us.i = icmp eq i8 %.376.us.i, 1
  br i1 %.382.us.i, label %B1270.i, label %B1130.us.i

B1130.us.i:                                       ; preds = %B1082.us.i
  %.402.us.i = shl nsw i64 %at.4.2.us.i, 3
  %.404.us.i = add nsw i64 %.402.us.i, %.36.i
  %.405.us.i = inttoptr i64 %.404.us.i to ptr
  %.406.us.i = load i64, ptr %.405.us.i, align 1, !noalias !9
  %.412.not.us.i = icmp slt i64 %.406.us.i, %at.4.2.us.i
  br i1 %.412.not.us.i, label %B1226.us.i, label %common.ret

B1226.us.i:                                       ; preds = %B1130.us.i
  %.460.us.i = icmp sgt i64 %.406.us.i, -1
  br i1 %.460.us.i, label %B1082.us.i, label %B2199.i

B1082.i:                                          ; preds = %B1226.i, %B1082.i.preheader
  %at.4.2.i = phi i64 [ %.406.i51, %B1226.i ], [ %.174318329.i, %B1082.i.preheader ]
  %.374.i = add nsw i64 %at.4.2.i, %.19.i35
  %.375.i = inttoptr i64 %.374.i to ptr
  %.376.i = load i8, ptr %.375.i, align 1, !noalias !9
  %31 = zext i8 %.376.i to i32
  switch i32 %31, label %B2199.i [
    i32 1, label %B1270.i.loopexit266
    i32 2, label %B1166.i
  ]

B1166.i:                                          ; preds = %B1082.i
  %.402.i = shl nsw i64 %at.4.2.i, 3
  %.404.i = add nsw i64 %.402.i, %.36.i
  %.405.i = inttoptr i64 %.404.i to ptr
  %.406.i51 = load i64, ptr %.405.i, align 1, !noalias !9
  %.412.not.i = icmp slt i64 %.406.i51, %at.4.2.i
  br i1 %.412.not.i, label %B1226.i, label %common.ret

B1226.i:                                          ; preds = %B1166.i
  %.460.i = icmp sgt i64 %.406.i51, -1
  br i1 %.460.i, label %B1082.i, label %B2199.i

B1270.i.loopexit266:                              ; preds = %B1082.i
  br label %B1270.i

B1270.i:                                          ; preds = %B1270.i.loopexit266, %B1082.us.i
  %.us-phi.i = phi i64 [ %at.4.2.i, %B1270.i.loopexit266 ], [ %at.4.2.us.i, %B1082.us.i ]
  %32 = icmp sgt i64 %.54.i41, 1
  %.15.i1.i = mul nsw i64 %.us-phi.i, %.54.i41
  %.17.i2.i = add nsw i64 %.15.i1.i, %.50.i40
  %.18.i3.i = inttoptr i64 %.17.i2.i to ptr
  %.19.i4.i = load i8, ptr %.18.i3.i, align 1, !noalias !15
  %.20.i5.i = zext i8 %.19.i4.i to i64
  br i1 %32, label %B118.i8.i, label %B1270.endif.i

B118.i8.i:                                        ; preds = %B1270.i
  %33 = icmp eq i64 %.54.i41, 2
  %sunkaddr.i9.i = inttoptr i64 %.15.i1.i to ptr
  %sunkaddr1.i10.i = getelementptr i8, ptr %sunkaddr.i9.i, i64 %.50.i40
  %sunkaddr2.i11.i = getelementptr i8, ptr %sunkaddr1.i10.i, i64 1
  %.38.i12.i = load i8, ptr %sunkaddr2.i11.i, align 1, !noalias !15
  %.39.i13.i = zext i8 %.38.i12.i to i64
  %.40.i14.i = shl nuw nsw i64 %.39.i13.i, 8
  %.42.i15.i = or disjoint i64 %.40.i14.i, %.20.i5.i
  br i1 %33, label %B1270.endif.i, label %B130.i17.i

B130.i17.i:                                       ; preds = %B118.i8.i
  %sunkaddr295 = inttoptr i64 %.15.i1.i to ptr
  %sunkaddr296 = getelementptr i8, ptr %sunkaddr295, i64 %.50.i40
  %sunkaddr297 = getelementptr i8, ptr %sunkaddr296, i64 2
  %.64.i21.i = load i16, ptr %sunkaddr297, align 1, !noalias !15
  %34 = zext i16 %.64.i21.i to i64
  %35 = shl nuw nsw i64 %34, 16
  %.85.i30.i = or disjoint i64 %35, %.42.i15.i
  br label %B1270.endif.i

B1342.i:                                          ; preds = %B1270.endif.i
  %.530.i = inttoptr i64 %.518.i55 to ptr
  %.531.i = load i64, ptr %.530.i, align 1, !noalias !9
  %.533.i = shl nsw i64 %.174318329.i, 3
  %.537.i = add nsw i64 %.533.i, %.23.i38
  %.538.i = inttoptr i64 %.537.i to ptr
  br label %B2199.sink.split.i

B1606.i:                                          ; preds = %B1448.endif.i
  %.604.i = add nsw i64 %.518.i55, 24
  %.607.i = inttoptr i64 %.604.i to ptr
  %.608.i = load i64, ptr %.607.i, align 1, !noalias !9
  %.609.i = add nsw i64 %.608.i, 1
  store i64 %.609.i, ptr %.607.i, align 1, !noalias !9
  %sunkaddr298 = inttoptr i64 %.64.i to ptr
  %sunkaddr299 = mul i64 %.174318329.i, 8
  %sunkaddr300 = getelementptr i8, ptr %sunkaddr298, i64 %sunkaddr299
  %.617.i = load i64, ptr %sunkaddr300, align 1, !noalias !9
  %.618.i = icmp sgt i64 %.617.i, 0
  br i1 %.618.i, label %B1732.i, label %B2199.i

B1732.i:                                          ; preds = %B1606.i
  %sunkaddr301 = inttoptr i64 %.36.i to ptr
  %sunkaddr302 = mul i64 %.174318329.i, 8
  %sunkaddr303 = getelementptr i8, ptr %sunkaddr301, i64 %sunkaddr302
  %.627.i = load i64, ptr %sunkaddr303, align 1, !noalias !9
  %.636.i = icmp sgt i64 %.627.i, -1
  br i1 %.636.i, label %B1786.i, label %B2080.i

B1786.i:                                          ; preds = %B1732.i
  %.646.i = add nsw i64 %.627.i, %.19.i35
  %.647.i = inttoptr i64 %.646.i to ptr
  %.648.i = load i8, ptr %.647.i, align 1, !noalias !9
  %.650.not.i = icmp eq i8 %.648.i, 1
  br i1 %.650.not.i, label %B1830.i, label %B1872.preheader.i

B1830.i:                                          ; preds = %B1786.i
  %36 = icmp sgt i64 %.54.i41, 1
  %.15.i32.i = mul nsw i64 %.627.i, %.54.i41
  %.17.i33.i = add nsw i64 %.15.i32.i, %.50.i40
  %.18.i34.i = inttoptr i64 %.17.i33.i to ptr
  %.19.i35.i = load i8, ptr %.18.i34.i, align 1, !noalias !18
  %.20.i36.i = zext i8 %.19.i35.i to i64
  br i1 %36, label %B118.i39.i, label %B1830.endif.i

B118.i39.i:                                       ; preds = %B1830.i
  %37 = icmp eq i64 %.54.i41, 2
  %sunkaddr.i40.i = inttoptr i64 %.15.i32.i to ptr
  %sunkaddr1.i41.i = getelementptr i8, ptr %sunkaddr.i40.i, i64 %.50.i40
  %sunkaddr2.i42.i = getelementptr i8, ptr %sunkaddr1.i41.i, i64 1
  %.38.i43.i = load i8, ptr %sunkaddr2.i42.i, align 1, !noalias !18
  %.39.i44.i = zext i8 %.38.i43.i to i64
  %.40.i45.i = shl nuw nsw i64 %.39.i44.i, 8
  %.42.i46.i = or disjoint i64 %.40.i45.i, %.20.i36.i
  br i1 %37, label %B1830.endif.i, label %B130.i48.i

B130.i48.i:                                       ; preds = %B118.i39.i
  %sunkaddr304 = inttoptr i64 %.15.i32.i to ptr
  %sunkaddr305 = getelementptr i8, ptr %sunkaddr304, i64 %.50.i40
  %sunkaddr306 = getelementptr i8, ptr %sunkaddr305, i64 2
  %.64.i52.i = load i16, ptr %sunkaddr306, align 1, !noalias !18
  %38 = zext i16 %.64.i52.i to i64
  %39 = shl nuw nsw i64 %38, 16
  %.85.i61.i = or disjoint i64 %39, %.42.i46.i
  br label %B1830.endif.i

B1928.i:                                          ; preds = %B1928.i.preheader, %B2200.i
  %.700307.i = phi i64 [ %.700.i, %B2200.i ], [ %.700305.i, %B1928.i.preheader ]
  %.753.i = icmp sgt i64 %.700307.i, -1
  br i1 %.753.i, label %B1982.i, label %B2080.i

B1982.i:                                          ; preds = %B1928.i
  %.759.i = add nsw i64 %.700307.i, %.19.i35
  %.760.i = inttoptr i64 %.759.i to ptr
  %.761.i = load i8, ptr %.760.i, align 1, !noalias !9
  %.763.not.i = icmp eq i8 %.761.i, 1
  br i1 %.763.not.i, label %B2026.i, label %B2200.i

B2026.i:                                          ; preds = %B1982.i
  %40 = icmp sgt i64 %.54.i41, 1
  %.15.i63.i = mul nsw i64 %.700307.i, %.54.i41
  %.17.i64.i = add nsw i64 %.15.i63.i, %.50.i40
  %.18.i65.i = inttoptr i64 %.17.i64.i to ptr
  %.19.i66.i = load i8, ptr %.18.i65.i, align 1, !noalias !21
  %.20.i67.i = zext i8 %.19.i66.i to i64
  br i1 %40, label %B118.i70.i, label %B2026.endif.i

B118.i70.i:                                       ; preds = %B2026.i
  %41 = icmp eq i64 %.54.i41, 2
  %sunkaddr.i71.i = inttoptr i64 %.15.i63.i to ptr
  %sunkaddr1.i72.i = getelementptr i8, ptr %sunkaddr.i71.i, i64 %.50.i40
  %sunkaddr2.i73.i = getelementptr i8, ptr %sunkaddr1.i72.i, i64 1
  %.38.i74.i = load i8, ptr %sunkaddr2.i73.i, align 1, !noalias !21
  %.39.i75.i = zext i8 %.38.i74.i to i64
  %.40.i76.i = shl nuw nsw i64 %.39.i75.i, 8
  %.42.i77.i = or disjoint i64 %.40.i76.i, %.20.i67.i
  br i1 %41, label %B2026.endif.i, label %B130.i79.i

B130.i79.i:                                       ; preds = %B118.i70.i
  %sunkaddr307 = inttoptr i64 %.15.i63.i to ptr
  %sunkaddr308 = getelementptr i8, ptr %sunkaddr307, i64 %.50.i40
  %sunkaddr309 = getelementptr i8, ptr %sunkaddr308, i64 2
  %.64.i83.i = load i16, ptr %sunkaddr309, align 1, !noalias !21
  %42 = zext i16 %.64.i83.i to i64
  %43 = shl nuw nsw i64 %42, 16
  %.85.i92.i = or disjoint i64 %43, %.42.i77.i
  br label %B2026.endif.i

B2080.i:                                          ; preds = %B1928.i, %B1732.i
  %.813.i = add nsw i64 %.518.i55, 16
  %.818.i = inttoptr i64 %.813.i to ptr
  br label %B2199.sink.split.i

B2199.sink.split.i:                               ; preds = %B846.endif.i, %B2080.i, %B1342.i
  %.818.sink130.i = phi ptr [ %.818.i, %B2080.i ], [ %.323.i, %B846.endif.i ], [ %.538.i, %B1342.i ]
  %.617.sink.i = phi i64 [ %.617.i, %B2080.i ], [ 1, %B846.endif.i ], [ %.531.i, %B1342.i ]
  %.818.sink.i = phi ptr [ %.818.i, %B2080.i ], [ %.323.i, %B846.endif.i ], [ %.530.i, %B1342.i ]
  %.819.i = load i64, ptr %.818.sink130.i, align 1, !noalias !9
  %.828.i = add nsw i64 %.819.i, %.617.sink.i
  store i64 %.828.i, ptr %.818.sink.i, align 1, !noalias !9
  br label %B2199.i

B2199.i:                                          ; preds = %B2026.endif.i, %B1830.endif.i, %B1448.endif.i, %B2199.sink.split.i, %B1606.i, %B1226.i, %B1082.i, %B1226.us.i, %B802.i, %B752.i
  %exitcond.not.i53 = icmp eq i64 %.181.i50, %.85.i
  br i1 %exitcond.not.i53, label %common.ret, label %B658.i

B2200.i:                                          ; preds = %B2026.endif.i, %B1982.i
  %.696.i = shl nsw i64 %.700307.i, 3
  %.698.i = add nsw i64 %.696.i, %.36.i
  %.699.i = inttoptr i64 %.698.i to ptr
  %.700.i = load i64, ptr %.699.i, align 1, !noalias !9
  %.702.not.i = icmp slt i64 %.700.i, %.700307.i
  br i1 %.702.not.i, label %B1928.i, label %common.ret

B846.endif.i:                                     ; preds = %B130.i.i, %B118.i.i, %B846.i
  %code.4.0.i.i = phi i64 [ %.85.i.i, %B130.i.i ], [ %.42.i.i, %B118.i.i ], [ %.20.i.i, %B846.i ]
  %.320.i = shl nuw nsw i64 %code.4.0.i.i, 3
  %.322.i = add nsw i64 %.320.i, %.68.i
  %.323.i = inttoptr i64 %.322.i to ptr
  %.324.i58 = load i64, ptr %.323.i, align 1, !noalias !9
  %.325.i = shl nsw i64 %.324.i58, 3
  %.327.i = add nsw i64 %.325.i, %.72.i46
  %.329.i = shl nsw i64 %.174318329.i, 3
  %.333.i = add nsw i64 %.329.i, %.23.i38
  %.334.i = inttoptr i64 %.333.i to ptr
  %.335.i = load i64, ptr %.334.i, align 1, !noalias !9
  %.336.i = inttoptr i64 %.327.i to ptr
  store i64 %.335.i, ptr %.336.i, align 1, !noalias !9
  br label %B2199.sink.split.i

B1270.endif.i:                                    ; preds = %B130.i17.i, %B118.i8.i, %B1270.i
  %code.4.0.i7.i = phi i64 [ %.85.i30.i, %B130.i17.i ], [ %.42.i15.i, %B118.i8.i ], [ %.20.i5.i, %B1270.i ]
  %44 = icmp eq i64 %.8.fr.i49, 7
  %.516.i54 = shl nuw nsw i64 %code.4.0.i7.i, 5
  %.518.i55 = add nsw i64 %.516.i54, %.72.i46
  br i1 %44, label %B1342.i, label %B1448.endif.i

B1448.endif.i:                                    ; preds = %B1270.endif.i
  %.548.i = add nsw i64 %.518.i55, 8
  %.551.i = inttoptr i64 %.548.i to ptr
  %.552.i = load i64, ptr %.551.i, align 1, !noalias !9
  %.554.i = shl nsw i64 %.174318329.i, 3
  %.556.i56 = add nsw i64 %.554.i, %.23.i38
  %.557.i = inttoptr i64 %.556.i56 to ptr
  %.558.i = load i64, ptr %.557.i, align 1, !noalias !9
  %.13.i.i57 = tail call i64 @llvm.smax.i64(i64 %.558.i, i64 0)
  %.587.i = add nsw i64 %.13.i.i57, %.552.i
  store i64 %.587.i, ptr %.551.i, align 1, !noalias !9
  %.592.not.i = icmp eq i64 %.us-phi.i, %.174318329.i
  br i1 %.592.not.i, label %B1606.i, label %B2199.i

B1830.endif.i:                                    ; preds = %B130.i48.i, %B118.i39.i, %B1830.i
  %code.4.0.i38.i = phi i64 [ %.85.i61.i, %B130.i48.i ], [ %.42.i46.i, %B118.i39.i ], [ %.20.i36.i, %B1830.i ]
  %.689.not.i = icmp eq i64 %code.4.0.i38.i, %code.4.0.i7.i
  br i1 %.689.not.i, label %B2199.i, label %B1872.preheader.i

B1872.preheader.i:                                ; preds = %B1830.endif.i, %B1786.i
  %.696302.i = shl nsw i64 %.627.i, 3
  %.698303.i = add nsw i64 %.696302.i, %.36.i
  %.699304.i = inttoptr i64 %.698303.i to ptr
  %.700305.i = load i64, ptr %.699304.i, align 1, !noalias !9
  %.702.not306.i = icmp slt i64 %.700305.i, %.627.i
  br i1 %.702.not306.i, label %B1928.i.preheader, label %common.ret

B1928.i.preheader:                                ; preds = %B1872.preheader.i
  br label %B1928.i

B2026.endif.i:                                    ; preds = %B130.i79.i, %B118.i70.i, %B2026.i
  %code.4.0.i69.i = phi i64 [ %.85.i92.i, %B130.i79.i ], [ %.42.i77.i, %B118.i70.i ], [ %.20.i67.i, %B2026.i ]
  %.797.not.i = icmp eq i64 %code.4.0.i69.i, %code.4.0.i7.i
  br i1 %.797.not.i, label %B2199.i, label %B2200.i

B264:                                             ; preds = %B212
  %.41.i77 = add nsw i64 %arg.state, 40
  %.42.i78 = inttoptr i64 %.41.i77 to ptr
  %.43.i79 = load i64, ptr %.42.i78, align 1, !noalias !24
  %.45.i = add nsw i64 %arg.state, 48
  %.46.i = inttoptr i64 %.45.i to ptr
  %.47.i = load i64, ptr %.46.i, align 1, !noalias !24
  %.103.i = add nsw i64 %arg.state, 8
  %.104.i = inttoptr i64 %.103.i to ptr
  %.105.i = load i64, ptr %.104.i, align 1, !noalias !24
  %.188325.not.i = icmp slt i64 %.105.i, 1
  br i1 %.188325.not.i, label %common.ret, label %B530.preheader.i

B530.preheader.i:                                 ; preds = %B264
  %const = bitcast i64 -4611686018427387904 to i64
  %.31.i74 = add nsw i64 %arg.state, 64
  %.32.i75 = inttoptr i64 %.31.i74 to ptr
  %.33.i76 = load i64, ptr %.32.i75, align 1, !noalias !24
  %.27.i71 = add nsw i64 %arg.state, 56
  %.28.i72 = inttoptr i64 %.27.i71 to ptr
  %.29.i73 = load i64, ptr %.28.i72, align 1, !noalias !24
  %.14.i68 = add nsw i64 %arg.state, 32
  %.15.i69 = inttoptr i64 %.14.i68 to ptr
  %.16.i70 = load i64, ptr %.15.i69, align 1, !noalias !24
  %.10.i65 = add nsw i64 %arg.state, 24
  %.11.i66 = inttoptr i64 %.10.i65 to ptr
  %.12.i67 = load i64, ptr %.11.i66, align 1, !noalias !24
  %.6.i62 = add nsw i64 %arg.state, 16
  %.7.i63 = inttoptr i64 %.6.i62 to ptr
  %.8.i64 = load i64, ptr %.7.i63, align 1, !noalias !24
  br label %B530.i

B530.i:                                           ; preds = %B528.backedge.i, %B530.preheader.i
  %lsr.iv25.i = phi i64 [ %.105.i, %B530.preheader.i ], [ %lsr.iv.next26.i, %B528.backedge.i ]
  %lsr.iv23.i = phi i64 [ %.12.i67, %B530.preheader.i ], [ %lsr.iv.next24.i, %B528.backedge.i ]
  %lsr.iv21.i80 = phi i64 [ %.16.i70, %B530.preheader.i ], [ %lsr.iv.next22.i98, %B528.backedge.i ]
  %lsr.iv19.i81 = phi i64 [ %.33.i76, %B530.preheader.i ], [ %lsr.iv.next20.i97, %B528.backedge.i ]
  %lsr.iv17.i82 = phi i64 [ %.29.i73, %B530.preheader.i ], [ %lsr.iv.next18.i96, %B528.backedge.i ]
  %lsr.iv.i83 = phi i64 [ %.8.i64, %B530.preheader.i ], [ %lsr.iv.next.i95, %B528.backedge.i ]
  %reached4.3.0333.i = phi i64 [ %const, %B530.preheader.i ], [ %.13.i16.i, %B528.backedge.i ]
  %reached3.4.0332.i = phi i64 [ %const, %B530.preheader.i ], [ %reached3.5.1.i, %B528.backedge.i ]
  %reached2.4.0331.i = phi i64 [ %const, %B530.preheader.i ], [ %reached2.5.1264.i, %B528.backedge.i ]
  %reached1.4.0330.i = phi i64 [ %const, %B530.preheader.i ], [ %reached1.5.1262.i, %B528.backedge.i ]
  %reached0.4.0329.i = phi i64 [ %const, %B530.preheader.i ], [ %reached0.5.1266.i, %B528.backedge.i ]
  %group.2.0328.i = phi i64 [ -1, %B530.preheader.i ], [ %group.3.1.i, %B528.backedge.i ]
  %.233.i84 = inttoptr i64 %lsr.iv.i83 to ptr
  %.234.i = load i64, ptr %.233.i84, align 1, !noalias !24
  %.240.i = icmp slt i64 %.234.i, %group.2.0328.i
  %.243.i85 = icmp slt i64 %.234.i, 0
  %or.cond.i86 = or i1 %.240.i, %.243.i85
  %.247.i = icmp sge i64 %.234.i, %.47.i
  %or.cond272.i = select i1 %or.cond.i86, i1 true, i1 %.247.i
  br i1 %or.cond272.i, label %common.ret, label %B616.i

B616.i:                                           ; preds = %B530.i
  %.287.i = inttoptr i64 %lsr.iv17.i82 to ptr
  %.288.i87 = load i64, ptr %.287.i, align 1, !noalias !24
  %.293.i = inttoptr i64 %lsr.iv19.i81 to ptr
  %.294.i = load i64, ptr %.293.i, align 1, !noalias !24
  %.298.i88 = inttoptr i64 %lsr.iv23.i to ptr
  %.299.i = load i8, ptr %.298.i88, align 1, !noalias !24
  %45 = zext i8 %.299.i to i32
  %.311.i89 = mul nuw nsw i64 %.234.i, 48
  %.319.not.i = icmp eq i64 %.234.i, %group.2.0328.i
  br i1 %.319.not.i, label %B846.i107, label %B1060.i90

B846.i107:                                        ; preds = %B616.i
  %.409.i = icmp sgt i64 %.288.i87, %reached4.3.0333.i
  br i1 %.409.i, label %B858.i, label %B1060.i90

B858.i:                                           ; preds = %B846.i107
  %.435.i = inttoptr i64 %lsr.iv21.i80 to ptr
  %.436.i = load i64, ptr %.435.i, align 1, !noalias !24
  %.441.not.i = icmp eq i64 %.436.i, %const
  br i1 %.441.not.i, label %B1060.i90, label %B922.endif.endif.i

B1060.i90:                                        ; preds = %B922.endif.endif.i, %B858.i, %B846.i107, %B616.i
  %group.3.1.i = phi i64 [ %group.2.0328.i, %B846.i107 ], [ %group.2.0328.i, %B922.endif.endif.i ], [ %group.2.0328.i, %B858.i ], [ %.234.i, %B616.i ]
  %reached0.3.1.i = phi i64 [ %reached0.4.0329.i, %B846.i107 ], [ %reached0.4.0329.i, %B922.endif.endif.i ], [ %reached0.4.0329.i, %B858.i ], [ %const, %B616.i ]
  %reached1.3.1.i = phi i64 [ %reached1.4.0330.i, %B846.i107 ], [ %reached1.4.0330.i, %B922.endif.endif.i ], [ %reached1.4.0330.i, %B858.i ], [ %const, %B616.i ]
  %reached2.3.1.i = phi i64 [ %reached2.4.0331.i, %B846.i107 ], [ %reached2.4.0331.i, %B922.endif.endif.i ], [ %reached2.4.0331.i, %B858.i ], [ %const, %B616.i ]
  %reached3.3.1.i = phi i64 [ %reached3.4.0332.i, %B846.i107 ], [ %reached3.4.0332.i, %B922.endif.endif.i ], [ %reached3.4.0332.i, %B858.i ], [ %const, %B616.i ]
  %reached4.4.1.i = phi i64 [ %reached4.3.0333.i, %B846.i107 ], [ %reached4.3.0333.i, %B922.endif.endif.i ], [ %reached4.3.0333.i, %B858.i ], [ %const, %B616.i ]
  switch i32 %45, label %B1416.endif.endif.i [
    i32 0, label %B1072.endif.endif.i
    i32 1, label %B1244.endif.endif.i
  ]

B922.endif.endif.i:                               ; preds = %B858.i
  %sunkaddr.i108 = inttoptr i64 %.311.i89 to ptr
  %sunkaddr27.i109 = getelementptr i8, ptr %sunkaddr.i108, i64 %.43.i79
  %sunkaddr28.i110 = getelementptr i8, ptr %sunkaddr27.i109, i64 40
  %.476.i = load i64, ptr %sunkaddr28.i110, align 1, !noalias !24
  %.13.i.i111 = tail call i64 @llvm.smin.i64(i64 %.288.i87, i64 %.436.i)
  %.510.i = sub nsw i64 %.13.i.i111, %reached4.3.0333.i
  %.13.i6.i = tail call i64 @llvm.smax.i64(i64 %.510.i, i64 0)
  %.541.i = add nsw i64 %.476.i, %.13.i6.i
  store i64 %.541.i, ptr %sunkaddr28.i110, align 1, !noalias !24
  br label %B1060.i90

B1072.endif.endif.i:                              ; preds = %B1060.i90
  %sunkaddr310 = inttoptr i64 %.311.i89 to ptr
  %sunkaddr311 = getelementptr i8, ptr %sunkaddr310, i64 %.43.i79
  %.578.i102 = load i64, ptr %sunkaddr311, align 1, !noalias !24
  %.13.i1.i103 = tail call i64 @llvm.smax.i64(i64 %reached0.3.1.i, i64 %.288.i87)
  %.610.i = sub nsw i64 %.294.i, %.13.i1.i103
  %.13.i7.i = tail call i64 @llvm.smax.i64(i64 %.610.i, i64 0)
  %.639.i = add nsw i64 %.578.i102, %.13.i7.i
  store i64 %.639.i, ptr %sunkaddr311, align 1, !noalias !24
  %.13.i8.i = tail call i64 @llvm.smax.i64(i64 %.294.i, i64 %reached0.3.1.i)
  br label %B1598.endif.endif.i

B1244.endif.endif.i:                              ; preds = %B1060.i90
  %sunkaddr312 = inttoptr i64 %.311.i89 to ptr
  %sunkaddr313 = getelementptr i8, ptr %sunkaddr312, i64 %.43.i79
  %sunkaddr314 = getelementptr i8, ptr %sunkaddr313, i64 8
  %.697.i = load i64, ptr %sunkaddr314, align 1, !noalias !24
  %.13.i2.i94 = tail call i64 @llvm.smax.i64(i64 %reached1.3.1.i, i64 %.288.i87)
  %.729.i = sub nsw i64 %.294.i, %.13.i2.i94
  %.13.i9.i = tail call i64 @llvm.smax.i64(i64 %.729.i, i64 0)
  %.758.i = add nsw i64 %.697.i, %.13.i9.i
  store i64 %.758.i, ptr %sunkaddr314, align 1, !noalias !24
  %.13.i10.i = tail call i64 @llvm.smax.i64(i64 %.294.i, i64 %reached1.3.1.i)
  br label %B1598.endif.endif.i

B1416.endif.endif.i:                              ; preds = %B1060.i90
  %sunkaddr315 = inttoptr i64 %.311.i89 to ptr
  %sunkaddr316 = getelementptr i8, ptr %sunkaddr315, i64 %.43.i79
  %sunkaddr317 = getelementptr i8, ptr %sunkaddr316, i64 16
  %.811.i = load i64, ptr %sunkaddr317, align 1, !noalias !24
  %.13.i3.i = tail call i64 @llvm.smax.i64(i64 %reached2.3.1.i, i64 %.288.i87)
  %.843.i = sub nsw i64 %.294.i, %.13.i3.i
  %.13.i11.i = tail call i64 @llvm.smax.i64(i64 %.843.i, i64 0)
  %.872.i = add nsw i64 %.811.i, %.13.i11.i
  store i64 %.872.i, ptr %sunkaddr317, align 1, !noalias !24
  %.13.i12.i = tail call i64 @llvm.smax.i64(i64 %.294.i, i64 %reached2.3.1.i)
  br label %B528.backedge.i

B1598.endif.endif.i:                              ; preds = %B1244.endif.endif.i, %B1072.endif.endif.i
  %reached1.5.1.ph.i = phi i64 [ %.13.i10.i, %B1244.endif.endif.i ], [ %reached1.3.1.i, %B1072.endif.endif.i ]
  %reached0.5.1.ph.i = phi i64 [ %reached0.3.1.i, %B1244.endif.endif.i ], [ %.13.i8.i, %B1072.endif.endif.i ]
  %46 = inttoptr i64 %.311.i89 to ptr
  %sunkaddr38.i = getelementptr i8, ptr %46, i64 %.43.i79
  %sunkaddr39.i = getelementptr i8, ptr %sunkaddr38.i, i64 24
  %.924.i = load i64, ptr %sunkaddr39.i, align 1, !noalias !24
  %.13.i4.i = tail call i64 @llvm.smax.i64(i64 %reached3.3.1.i, i64 %.288.i87)
  %.956.i = sub nsw i64 %.294.i, %.13.i4.i
  %.13.i13.i = tail call i64 @llvm.smax.i64(i64 %.956.i, i64 0)
  %.985.i = add nsw i64 %.924.i, %.13.i13.i
  store i64 %.985.i, ptr %sunkaddr39.i, align 1, !noalias !24
  %.13.i14.i = tail call i64 @llvm.smax.i64(i64 %.294.i, i64 %reached3.3.1.i)
  br label %B528.backedge.i

B528.backedge.i:                                  ; preds = %B1598.endif.endif.i, %B1416.endif.endif.i
  %reached0.5.1266.i = phi i64 [ %reached0.5.1.ph.i, %B1598.endif.endif.i ], [ %reached0.3.1.i, %B1416.endif.endif.i ]
  %reached2.5.1264.i = phi i64 [ %reached2.3.1.i, %B1598.endif.endif.i ], [ %.13.i12.i, %B1416.endif.endif.i ]
  %reached1.5.1262.i = phi i64 [ %reached1.5.1.ph.i, %B1598.endif.endif.i ], [ %reached1.3.1.i, %B1416.endif.endif.i ]
  %reached3.5.1.i = phi i64 [ %.13.i14.i, %B1598.endif.endif.i ], [ %reached3.3.1.i, %B1416.endif.endif.i ]
  %47 = inttoptr i64 %.311.i89 to ptr
  %sunkaddr41.i = getelementptr i8, ptr %47, i64 %.43.i79
  %sunkaddr42.i = getelementptr i8, ptr %sunkaddr41.i, i64 32
  %.1057.i = load i64, ptr %sunkaddr42.i, align 1, !noalias !24
  %.13.i5.i = tail call i64 @llvm.smax.i64(i64 %reached4.4.1.i, i64 %.288.i87)
  %.1091.i = sub nsw i64 %.294.i, %.13.i5.i
  %.13.i15.i = tail call i64 @llvm.smax.i64(i64 %.1091.i, i64 0)
  %.1120.i = add nsw i64 %.1057.i, %.13.i15.i
  store i64 %.1120.i, ptr %sunkaddr42.i, align 1, !noalias !24
  %.13.i16.i = tail call i64 @llvm.smax.i64(i64 %.294.i, i64 %reached4.4.1.i)
  %lsr.iv.next.i95 = add i64 %lsr.iv.i83, 8
  %lsr.iv.next18.i96 = add i64 %lsr.iv17.i82, 8
  %lsr.iv.next20.i97 = add i64 %lsr.iv19.i81, 8
  %lsr.iv.next22.i98 = add i64 %lsr.iv21.i80, 8
  %lsr.iv.next24.i = add i64 %lsr.iv23.i, 1
  %lsr.iv.next26.i = add i64 %lsr.iv25.i, -1
  %exitcond.not.i99 = icmp eq i64 %lsr.iv.next26.i, 0
  br i1 %exitcond.not.i99, label %common.ret, label %B530.i

common.ret:                                       ; preds = %B528.backedge.i, %B530.i, %B264, %B1872.preheader.i, %B2200.i, %B2199.i, %B1166.i, %B1130.us.i, %B752.i, %B686.i, %B234, %B1584.i, %B1122.i, %B872.i, %B666.i, %B626.i, %B570.i, %B1584.us.i, %B626.us.i, %B570.us.i, %B182, %B636.i, %B560.i, %B412.i, %B344.i, %B130, %B906.us.i, %B906.us23.i, %B722.endif.i, %B506.i.prol.loopexit, %B474.endif.i, %B906.i, %B716.i.1, %B410.i, %B348.i
  %storemerge.i.sink = phi i64 [ 1, %B560.i ], [ 1, %B1122.i ], [ 0, %B906.i ], [ 0, %B234 ], [ 0, %B474.endif.i ], [ 1, %B626.us.i ], [ 0, %B716.i.1 ], [ 0, %B722.endif.i ], [ 1, %B1130.us.i ], [ 0, %B906.us23.i ], [ 0, %B506.i.prol.loopexit ], [ 0, %B130 ], [ 0, %B2199.i ], [ 0, %B264 ], [ 1, %B2200.i ], [ 1, %B348.i ], [ 0, %B182 ], [ 1, %B344.i ], [ 0, %B906.us.i ], [ 1, %B1166.i ], [ 1, %B410.i ], [ 1, %B412.i ], [ 0, %B636.i ], [ 1, %B570.us.i ], [ 0, %B1584.us.i ], [ 1, %B666.i ], [ 0, %B1584.i ], [ 1, %B570.i ], [ 1, %B626.i ], [ 1, %B872.i ], [ 1, %B1872.preheader.i ], [ 1, %B686.i ], [ 1, %B752.i ], [ 1, %B530.i ], [ 0, %B528.backedge.i ]
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
!10 = distinct !{!10, !11, !"_ZN9tracelens6derive15ancestry_kernel7by_codeB3v30B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!11 = distinct !{!11, !"_ZN9tracelens6derive15ancestry_kernel7by_codeB3v30B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!12 = !{!13, !10}
!13 = distinct !{!13, !14, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!14 = distinct !{!14, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!15 = !{!16, !10}
!16 = distinct !{!16, !17, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!17 = distinct !{!17, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!18 = !{!19, !10}
!19 = distinct !{!19, !20, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!20 = distinct !{!20, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!21 = !{!22, !10}
!22 = distinct !{!22, !23, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!23 = distinct !{!23, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!24 = !{!25}
!25 = distinct !{!25, !26, !"_ZN9tracelens6derive15ancestry_kernel7lengthsB3v32B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!26 = distinct !{!26, !"_ZN9tracelens6derive15ancestry_kernel7lengthsB3v32B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
